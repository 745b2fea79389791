"""Build hook: compiles the protos before the package is collected. Everything else stands in pyproject.toml."""

import sys
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

_ROOT = Path(__file__).resolve().parent
sys.path.insert(0, str(_ROOT / "protos"))


class _BuildWithProtos(build_py):
    def run(self) -> None:
        from compile import compile_protos

        compile_protos(_ROOT)
        super().run()


setup(cmdclass={"build_py": _BuildWithProtos})
