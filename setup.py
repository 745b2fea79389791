"""Build hook: compiles the protos before the package is collected, and the kernels of signal processing.

Everything else stands in pyproject.toml.
"""

import sys
from pathlib import Path

import nanobind
from setuptools import Extension, setup
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


_KERNELS = Extension(
    "sonorant.dsp.kernels",
    ["sonorant/dsp/kernels.cpp"],
    include_dirs=[str(_NANOBIND / folder) for folder in ("include", "src", "ext/robin_map/include")],
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

setup(cmdclass={"build_py": _BuildWithProtos}, ext_modules=[_KERNELS])
