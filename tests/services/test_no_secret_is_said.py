"""Every program, started with secrets and none of the services that they open, says none of them."""

import base64
import os
import socket
import subprocess
import sys
import time
from urllib.parse import quote

import grpc
import pytest
import redis
import trustme
from rigs.small_corpus import digits_recipe, record
from rigs.waiting import PATIENCE_S

from services.coordination.redis_ledger import RedisLedger
from sonorant.corpus.shards import shard_name, write_shard
from sonorant.errors import SonorantError
from sonorant.recipe.loading import dump_recipe
from sonorant.v1 import coordinator_pb2 as pb
from sonorant.v1.coordinator_pb2_grpc import CoordinatorStub

PASSWORD = "hunter2:/@%made-up"
CURVE = b"a curve key of 32 bytes, made up"
STORE_SECRET, STORE_PASSWORD = "made-up-key-of-a-store", "made-up-password-of-a-store"
API_KEY = "sonorant-made-up-key-of-a-client"
USER = f"somebody:{quote(PASSWORD, safe='')}"


def sonorant(*arguments):
    return ["sonorant.cli", *arguments]


PROGRAMS = {
    "coordinator": (["services.coordinator", "--run", "run"], 69),
    "stage": (["services.shard_reader", "--run", "run", "--coordinator", "127.0.0.1:{port}"], None),
    "stage with a store": (
        ["services.featurizer", "--run", "no-run", "--store", "s3://bucket/run", "--coordinator", "127.0.0.1:{port}"],
        69,
    ),
    "trainer": (["services.trainer", "--run", "run", "--coordinator", "127.0.0.1:{port}"], 69),
    "launcher": (
        ["services.launcher", "--ranks", "1", "--rank", "0", "--host", "127.0.0.1", "--", sys.executable, "-c",
         "import sys; sys.stdin.read()"],
        None,
    ),
    "recognizer": (["services.recognizer", "--exports", "none", "--store", "s3://bucket/run", "--patience-s", "3"], 69),
    "autoscaler": (["services.autoscaler", "--recipe", "run/recipe.yaml", "--coordinator", "127.0.0.1:{port}",
                    "--deployments", "x-"], None),
    "prepare": (sonorant("prepare", "--recipe", "run/recipe.yaml", "--data", ".", "--run", "new", "--store",
                         "s3://bucket/new"), 69),
    "test": (["services.evaluation", "--server", "127.0.0.1:{port}", "--run", "run", "--store", "s3://bucket/run"], 69),
    "pull": (sonorant("pull", "--run", "pulled", "--store", "s3://bucket/run"), 69),
    "export": (sonorant("export", "--run", "exported", "--store", "s3://bucket/run"), 69),
    "transcribe": (sonorant("transcribe", "--server", "127.0.0.1:{port}", "heard.wav"), 69),
    "train": (sonorant("train", "--recipe", "run/recipe.yaml", "--run", "run", "--store", "s3://bucket/run"), 69),
    "status": (sonorant("status", "--coordinator", "127.0.0.1:{port}"), 69),
}  # fmt: skip


@pytest.fixture(scope="module")
def workplace(tmp_path_factory):
    """A folder with a run, keys, and nobody at a port; the environment of a process there."""
    folder = tmp_path_factory.mktemp("secrets")
    (folder / "run" / "shards").mkdir(parents=True)
    (folder / "run" / "recipe.yaml").write_text(dump_recipe(digits_recipe()))
    (folder / "run" / "shards" / "units.json").write_text('{"kind": "words", "symbols": ["one", "two"]}')
    for split in ("train", "dev"):
        write_shard(folder / "run" / "shards" / shard_name(split, 0, 1), [record(i) for i in range(3)])
    issued = trustme.CA().issue_cert("127.0.0.1")
    keys = folder / "keys"
    keys.mkdir()
    (keys / "curve.key").write_bytes(base64.b64encode(CURVE))
    issued.private_key_pem.write_to_path(keys / "tls.key")
    issued.cert_chain_pems[0].write_to_path(keys / "tls.crt")
    with socket.socket() as nobody:  # bound, and never listens: its port stays its own
        nobody.bind(("127.0.0.1", 0))
        port = nobody.getsockname()[1]
        yield folder, port, environment(folder, f"redis://{USER}@127.0.0.1:{port}/0", port)


def environment(folder, redis_url, port):
    return os.environ | {
        "SONORANT_REDIS": redis_url,
        "SONORANT_KEYS": str(folder / "keys"),
        "SONORANT_API_KEY": API_KEY,
        "AWS_ACCESS_KEY_ID": "nobody",
        "AWS_SECRET_ACCESS_KEY": STORE_SECRET,
        "AWS_ENDPOINT_URL": f"http://nobody:{STORE_PASSWORD}@127.0.0.1:{port}",
        "GRPC_VERBOSITY": "debug",
        "PYTHONPATH": os.getcwd(),
    }


def secrets(folder):
    lines = (folder / "keys" / "tls.key").read_text().splitlines()
    known = [
        API_KEY,
        PASSWORD,
        quote(PASSWORD, safe=""),
        quote(PASSWORD),
        CURVE.decode(),
        base64.b64encode(CURVE).decode(),
    ]
    return [*known, CURVE.hex(), STORE_SECRET, STORE_PASSWORD, *(line for line in lines if "-----" not in line)]


def hold(said, folder):
    assert not [secret for secret in secrets(folder) if secret in said], said


@pytest.fixture(scope="module")
def said(workplace):
    """What each program says, and its exit code; those that stay are asked to leave after a while."""
    folder, port, environment = workplace
    running = {}
    for name, (command, _) in PROGRAMS.items():
        arguments = [word.format(port=port) for word in command]
        running[name] = subprocess.Popen(
            [sys.executable, "-m", *arguments], cwd=folder, env=environment, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    deadline_s = time.monotonic() + PATIENCE_S
    told = {}
    try:
        for name, process in running.items():
            if PROGRAMS[name][1] is not None:
                output, _ = process.communicate(timeout=max(1.0, deadline_s - time.monotonic()))
                told[name] = (process.returncode, output.decode())
        for name, process in running.items():
            if name not in told:
                process.terminate()
                output, _ = process.communicate(timeout=PATIENCE_S)
                told[name] = (process.returncode, output.decode())
    finally:
        for process in running.values():
            process.kill()
            process.wait()
    return told


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_whose_services_are_away_says_no_secret(said, workplace, name):
    code, text = said[name]
    assert text, "it said nothing, so this shows nothing"
    assert PROGRAMS[name][1] in (None, code), text
    hold(text, workplace[0])
    for log in workplace[0].glob("run/logs/*"):
        hold(log.read_text(), workplace[0])


@pytest.mark.parametrize("name", ["coordinator", "trainer", "launcher"])
def test_who_waits_for_redis_says_so_once_and_names_its_address(said, workplace, name):
    _, text = said[name]
    assert text.count('"redis_away"') == 1
    assert f"127.0.0.1:{workplace[1]}" in text


def test_a_coordinator_that_loses_its_redis_says_no_secret_neither_in_its_log_nor_to_who_asks(workplace, own_redis):
    folder, port, _ = workplace
    with redis.Redis.from_url(own_redis.url) as client:
        client.config_set("requirepass", PASSWORD)
    url = f"unix://:{quote(PASSWORD, safe='')}@{own_redis.folder}/redis.sock"
    given = environment(folder, url, port)
    del given["SONORANT_KEYS"]
    port_file, log_file = folder / "port", folder / "coordinator.log"
    with log_file.open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "services.coordinator", "--run", "run", "--port-file", "port"],
            cwd=folder, env=given, stdout=log, stderr=log,
        )  # fmt: skip
    try:
        deadline_s = time.monotonic() + PATIENCE_S
        while not port_file.exists():
            assert process.poll() is None, log_file.read_text()
            assert time.monotonic() < deadline_s
            time.sleep(0.05)
        own_redis.kill()
        with grpc.insecure_channel(port_file.read_text().strip()) as channel, pytest.raises(grpc.RpcError) as refused:
            CoordinatorStub(channel).StartGeneration(pb.StartGenerationRequest(generation=1), timeout=60)
        assert "redis.sock" in refused.value.details()
        hold(refused.value.details(), folder)
        assert '"redis_away"' in log_file.read_text()
    finally:
        process.terminate()
        process.wait()
    hold(log_file.read_text(), folder)
    assert log_file.read_text().count('"redis_away"') == 1


@pytest.mark.parametrize("url", [f"redis://{USER}@127.0.0.1:1/0", f"redis://:{PASSWORD}@127.0.0.1:6379/0", "nonsense"])
def test_no_error_of_a_ledger_carries_the_password(workplace, url):
    with pytest.raises(SonorantError) as raised:
        RedisLedger(url, 1, start_patience_s=0.0)
    hold(str(raised.value) + repr(raised.value), workplace[0])
