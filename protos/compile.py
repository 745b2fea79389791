"""Compile the .proto files beside this one into `sonorant/v1`, with type stubs; the build calls it."""

import os
import sys
from pathlib import Path

__all__ = ["compile_protos"]


def compile_protos(root: Path) -> None:
    """Write `*_pb2.py`, `*_pb2_grpc.py` and their stubs below `root/sonorant/v1`."""
    import grpc_tools
    from grpc_tools import protoc

    # protoc looks for the stub plugins on the PATH; they are installed beside this interpreter.
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    sources = sorted(str(p.relative_to(root / "protos")) for p in (root / "protos/sonorant").rglob("*.proto"))
    well_known = Path(grpc_tools.__file__).parent / "_proto"
    out = str(root)
    paths = [f"-I{root / 'protos'}", f"-I{well_known}", f"--python_out={out}", f"--grpc_python_out={out}"]
    stubs = [f"--mypy_out=quiet:{out}", f"--mypy_grpc_out=quiet:{out}"]
    status = protoc.main(["protoc", *paths, *stubs, *sources])
    if status != 0:
        sys.exit(status)
    (root / "sonorant/v1/__init__.py").write_text('"""Messages and services, compiled from protos/."""\n')


if __name__ == "__main__":
    compile_protos(Path(__file__).resolve().parent.parent)
