"""Build hook: compiles the protos before the package is collected, and the kernels of signals, models and searches.

Everything else stands in pyproject.toml.
"""

import platform
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

import nanobind
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py

_ROOT = Path(__file__).resolve().parent
_NANOBIND = Path(nanobind.include_dir()).parent
_VECTORISED = ("-fno-math-errno", "-fno-trapping-math")  # comparisons, square roots, rounding, exponentials
_WIDE = ("-mprefer-vector-width=512",) if platform.machine() == "x86_64" else ()  # where a loop is for AVX-512
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
            macros = {"PORTABLE": None, "NB_DOMAIN": "portable"}  # whose types are its own
            portable = [of("kernels_portable", **macros) for of in _WITH_VARIANTS]
            self.distribution.ext_modules = [*_EXTENSIONS, *portable]
        super().finalize_options()


def _extension(
    module: str, source: str, *flags: str, headers: Iterable[str] = (), macros: Mapping[str, str | None] | None = None
) -> Extension:
    return Extension(
        module,
        [source],
        depends=list(headers),
        include_dirs=[str(_NANOBIND / folder) for folder in ("include", "src", "ext/robin_map/include")],
        define_macros=[("MODULE", module.rpartition(".")[2]), *(macros or {}).items()],
        extra_compile_args=[
            "-std=c++17",
            "-O3",
            "-g0",
            "-fvisibility=hidden",
            "-fno-strict-aliasing",  # nanobind's own demand
            *flags,
        ],
        language="c++",
    )


def _kernels(name: str, **macros: str | None) -> Extension:
    return _extension(
        f"sonorant.audio.{name}",
        "sonorant/audio/kernels.cpp",
        *_VECTORISED,
        headers=_headers("sonorant/audio"),
        macros=macros,
    )


def _ngrams() -> Extension:
    return _extension("sonorant.lm.ngrams", "sonorant/lm/ngrams.cpp", headers=_headers("sonorant/lm"))


def _searches() -> Extension:
    headers = _headers("sonorant/decoding") + _headers("sonorant/ctc") + _headers("sonorant/lm")
    return _extension("sonorant.decoding.kernels", "sonorant/decoding/kernels.cpp", *_VECTORISED, headers=headers)


def _layers(name: str, **macros: str | None) -> Extension:
    headers = _headers("sonorant/models") + _headers("sonorant/audio")
    flags = (*_VECTORISED, *_WIDE)
    return _extension(f"sonorant.models.{name}", "sonorant/models/kernels.cpp", *flags, headers=headers, macros=macros)


def _ctc(name: str, **macros: str | None) -> Extension:
    headers = _headers("sonorant/ctc") + _headers("sonorant/models") + _headers("sonorant/audio")
    flags = (*_VECTORISED, *_WIDE)
    return _extension(f"sonorant.ctc.{name}", "sonorant/ctc/kernels.cpp", *flags, headers=headers, macros=macros)


def _exported_layers(name: str, **macros: str | None) -> Extension:
    headers = _headers("sonorant/export") + _headers("sonorant/models") + _headers("sonorant/audio")
    source = "sonorant/export/kernels.cpp"
    return _extension(f"sonorant.export.{name}", source, *_VECTORISED, headers=headers, macros=macros)


def _headers(folder: str) -> list[str]:
    return sorted(str(path.relative_to(_ROOT)) for path in (_ROOT / folder).glob("*.hpp"))


_WITH_VARIANTS = (_kernels, _layers, _ctc, _exported_layers)
_EXTENSIONS = [*(of("kernels") for of in _WITH_VARIANTS), _ngrams(), _searches()]

setup(cmdclass={"build_py": _BuildWithProtos, "build_ext": _BuildBothVariants}, ext_modules=_EXTENSIONS)
