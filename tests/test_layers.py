"""The library's layers, by its imports: arrays in, arrays out, without sockets, clocks or global randomness."""

import ast
import graphlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

import sonorant
from services.coordination.redis_scripts import SCRIPTS
from sonorant.v1 import coordinator_pb2, example_pb2, recognizer_pb2, record_pb2

ROOT = Path(sonorant.__file__).parent
HEAVY = {"models", "objectives", "training", "export", "tensorflow.py"}  # the packages that may import TensorFlow
EDGES = {"cli", "client.py", "v1"}  # command line, client of the recognizer, code that the proto compiler wrote
TRANSPORT = {"zmq", "grpc", "grpc_health", "grpc_reflection", "redis", "kubernetes", "socket", "services"}
TRANSPORT |= {"asyncio", "ftplib", "http", "httpx", "requests", "smtplib", "socketserver", "ssl", "urllib", "xmlrpc"}
TENSORS = {"tensorflow", "keras", "horovod", "sonorant.tensorflow"}
NOT_IN_A_STAGE = TENSORS | {"jinja2", "matplotlib", "scipy"}  # packages that its image has not
GENERATORS = {"Generator", "BitGenerator", "Philox", "PCG64", "SeedSequence", "default_rng"}
WALL_CLOCKS = {"time.time", "time.time_ns", "datetime.now", "datetime.datetime.now", "datetime.utcnow", "date.today"}
CLOCKS = {"time.time", "time.monotonic", "time.perf_counter", "time.process_time", "time.sleep"}
AMBIENT = CLOCKS | WALL_CLOCKS | {"os.environ", "os.getenv"}
# Packages of the library that import no recipe but sections of their own, and which of each other they may import.
GROUND = {"arrays", "errors", "randomness", "section", "v1"}
LOW = {
    "audio": GROUND,
    "fleet": GROUND,
    "delivery": GROUND,
    "features": {*GROUND, "audio"},
    "links": {*GROUND, "audio", "delivery"},
}
# What services share, and which of it stands on what; none of it knows a service.
SHARED = {
    "process": set(),
    "links": {"process"},
    "coordination": {"process"},
    "storage": {"process"},
    "tracking": {"process"},
    "stage": {"process", "links", "coordination", "storage"},
}

MODULES = sorted(ROOT.rglob("*.py"))
SERVICES = sorted((ROOT.parent / "services").rglob("*.py"))
LIBRARY = [path for path in MODULES if path.relative_to(ROOT).parts[0] not in EDGES]


def _name(path):
    return ".".join(path.relative_to(ROOT.parent).with_suffix("").parts)


def _imports(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _dotted(node):
    if isinstance(node, ast.Name):
        return node.id
    return f"{_dotted(node.value)}.{node.attr}" if isinstance(node, ast.Attribute) else "?"


def _ambient(tree):
    """Yield what a module reads that nobody passed to it: clocks, environment, numpy's global generator."""
    for name in _imports(tree):
        if name in AMBIENT or name == "random":
            yield name
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            name = _dotted(node)
            parts = name.split(".")
            if name in AMBIENT or (parts[:2] == ["np", "random"] and len(parts) == 3 and parts[2] not in GENERATORS):
                yield name
        if isinstance(node, ast.Call) and _dotted(node.func).endswith("random.default_rng") and not node.args:
            yield "default_rng without a seed"


@pytest.mark.parametrize("path", LIBRARY, ids=_name)
def test_library_opens_no_socket_and_knows_no_service(path):
    tree = ast.parse(path.read_text())
    assert not {name for name in _imports(tree) if name.split(".")[0] in TRANSPORT}


@pytest.mark.parametrize("path", LIBRARY, ids=_name)
def test_only_heavy_packages_import_tensorflow(path):
    found = {name for name in _imports(ast.parse(path.read_text())) if {name, name.split(".")[0]} & TENSORS}
    assert not found or path.relative_to(ROOT).parts[0] in HEAVY


def test_tensorflow_is_imported_in_one_module():
    paths = [*MODULES, *SERVICES, *sorted((ROOT.parent / "benchmarks").rglob("*.py"))]
    roots = {path: {name.split(".")[0] for name in _imports(ast.parse(path.read_text()))} for path in paths}
    assert [path for path, names in roots.items() if names & {"tensorflow", "keras"}] == [ROOT / "tensorflow.py"]


@pytest.mark.parametrize("path", LIBRARY, ids=_name)
def test_the_library_reads_no_clock_environment_or_global_generator(path):
    assert not set(_ambient(ast.parse(path.read_text())))


def test_no_module_imports_itself_by_way_of_others():
    """Imports inside functions count too."""
    known = {_name(path).removesuffix(".__init__") for path in LIBRARY}
    imported = {
        name: {other for other in _imports(ast.parse(path.read_text())) if other in known} - {name}
        for path in LIBRARY
        for name in (_name(path).removesuffix(".__init__"),)
    }
    graphlib.TopologicalSorter(imported).prepare()


@pytest.mark.parametrize(
    ("tree", "package", "allowed"),
    [("sonorant", *entry) for entry in LOW.items()] + [("services", *entry) for entry in SHARED.items()],
)
def test_a_package_imports_only_those_below_it(tree, package, allowed):
    paths = sorted((ROOT.parent / tree / package).glob("*.py"))
    names = [name.split(".") for path in paths for name in _imports(ast.parse(path.read_text()))]
    known = {name[1] for name in names if name[0] == tree and len(name) > 1}
    assert package in known
    assert known <= {package, *allowed}


def test_nothing_looks_at_the_clock_on_the_wall_which_may_jump():
    """Kubernetes' objects carry such times, for people to read; nothing is decided by them. API keys expire by date."""
    allowed = {ROOT.parent / "services" / name for name in ("autoscaler/cluster.py", "recognizer/key_file.py")}
    for path in sorted({*MODULES, *SERVICES} - allowed):
        tree = ast.parse(path.read_text())
        read = {_dotted(node) for node in ast.walk(tree) if isinstance(node, ast.Attribute)} | set(_imports(tree))
        assert not read & WALL_CLOCKS, path


def test_no_process_tells_another_what_time_it_is():
    """So clocks of pods may differ by anything: what travels are durations, which each takes by its own clock."""
    modules = (coordinator_pb2, example_pb2, recognizer_pb2, record_pb2)
    messages = [message for module in modules for message in module.DESCRIPTOR.message_types_by_name.values()]
    fields = [field for message in messages for field in message.fields]
    assert len(fields) > 50
    told = {field.message_type.full_name for field in fields if field.message_type is not None}
    assert "google.protobuf.Duration" in told
    assert "google.protobuf.Timestamp" not in told
    assert not [field.full_name for field in fields if re.search(r"time$|clock|deadline|_at$|unix", field.name)]
    # Nor does Redis, whose clock would be a third.
    assert not [name for name, script in SCRIPTS.items() if re.search(r"'(TIME|P?EXPIRE\w*|P?SETEX|PX|EX)'", script)]


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import time\ntime.time()", {"time.time"}),
        ("from time import monotonic", {"time.monotonic"}),
        ("import os\nos.environ['A']", {"os.environ"}),
        ("import numpy as np\nnp.random.rand(3)", {"np.random.rand"}),
        ("import numpy as np\nnp.random.default_rng()", {"default_rng without a seed"}),
        ("import numpy as np\nnp.random.Generator(np.random.Philox(key=1))", set()),
    ],
)
def test_the_walk_finds_what_it_looks_for(source, found):
    assert set(_ambient(ast.parse(source))) == found


def test_the_data_path_runs_on_what_the_image_of_a_stage_has():
    packages = ("arrays", "corpus", "audio", "features", "augment", "delivery", "links", "fleet", "recipe", "text")
    packages += ("capacity", "decoding")
    modules = [_name(path) for path in LIBRARY if path.relative_to(ROOT).parts[0].removesuffix(".py") in packages]
    modules = [name.removesuffix(".__init__") for name in modules]
    packages = ("process", "links", "coordination", "stage", "coordinator", "shard_reader", "augmenter")
    packages += ("vtlp_augmenter", "room_simulator", "featurizer", "example_server")
    modules += [_name(path) for package in packages for path in (ROOT.parent / "services" / package).glob("[!_]*.py")]
    assert {"sonorant.augment.room", "services.stage.replica", "services.augmenter.main"} <= set(modules)
    program = f"""
import importlib, sys
for name in {modules}:
    importlib.import_module(name)
print(sorted({NOT_IN_A_STAGE} & set(sys.modules)))
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip() == "[]"
