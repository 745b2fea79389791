"""Build hook: compiles the protos before the package is collected, and the kernels of signal processing.

Everything else stands in pyproject.toml.
"""

import sys
from pathlib import Path

import nanobind
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py

_ROOT = Path(__file__).resolve().parent
_NANOBIND = Path(nanobind.include_dir()).parent
sys.path.insert(0, str(_ROOT / "protos"))


class _BuildWithProtos(build_py):
    def run(self) -> None:
        from compile import compile_protos

        compile_protos(_ROOT)
        if "sonorant.v1" not in self.packages:  # packages were looked for before it was there
            self.packages.append("sonorant.v1")
        super().run()


class _BuildBothVariants(build_ext):
    """In place, beside what is installed, builds the kernels as older processors run them: for the tests."""

    def finalize_options(self) -> None:
        if self.inplace or self.editable_mode:
            self.distribution.ext_modules = [_kernels("kernels"), _kernels("kernels_portable", "PORTABLE")]
        super().finalize_options()


def _kernels(name: str, *macros: str) -> Extension:
    return Extension(
        f"sonorant.audio.{name}",
        ["sonorant/audio/kernels.cpp"],
        include_dirs=[str(_NANOBIND / folder) for folder in ("include", "src", "ext/robin_map/include")],
        define_macros=[("MODULE", name), *((macro, None) for macro in macros)],
        extra_compile_args=[
            "-std=c++17",
            "-O3",
            "-g0",
            "-fvisibility=hidden",
            "-fno-strict-aliasing",  # nanobind's own demand
            "-fno-math-errno",  # these two: so that square roots and rounding are vectorised
            "-fno-trapping-math",
        ],
        language="c++",
    )


setup(cmdclass={"build_py": _BuildWithProtos, "build_ext": _BuildBothVariants}, ext_modules=[_kernels("kernels")])
