import fcntl
import os
import re
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.process.sturdy_file import SturdyFile, sturdy_stderr

ROOM = 4096  # of the smallest pipe


@pytest.fixture
def pipe():
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    os.set_blocking(reader, False)
    yield reader, writer
    for end in (reader, writer):
        os.close(end)


def read(reader, count=1 << 20):
    try:
        return os.read(reader, count)
    except BlockingIOError:
        return b""


@given(steps=st.lists(st.one_of(st.integers(1, 3000), st.sampled_from([-4096, -1000])), max_size=40))
def test_every_line_is_there_whole_or_counted(steps):
    reader, writer = os.pipe()
    for end in (reader, writer):
        os.set_blocking(end, False)
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, ROOM)
    file, got, lines = SturdyFile(writer, lambda count: f"lost {count}"), b"", 0
    for step in steps:
        if step < 0:
            got += read(reader, -step)
        else:
            line = b"<" + b"x" * step + b">\n"
            assert file.write(line) == len(line)
            lines += 1
    for _ in range(2):  # the first write tells what was lost
        got += read(reader)
        file.write(b"<last>\n")
    got += read(reader)
    for end in (reader, writer):
        os.close(end)
    told = [line for line in got.decode().split("\n") if line]
    lost = sum(int(count) for line in told for count in re.findall(r"^lost (\d+)$", line))
    whole = sum(bool(re.fullmatch("<(x+|last)>", line)) for line in told)
    assert whole + lost == lines + 2
    assert all(re.fullmatch(r"<(x+|last)>|lost \d+|<x*|lost? ?\d*|los?|l", line) for line in told)


def test_a_closed_pipe_and_no_descriptor_at_all_raise_nothing(pipe):
    reader, writer = os.pipe()
    os.close(reader)
    for descriptor in (writer, -1):
        file = SturdyFile(descriptor, str)
        assert file.write(b"a line\n") == 7
    os.close(writer)


def test_secrets_are_masked_in_whatever_is_written(pipe):
    reader, writer = pipe
    SturdyFile(writer, str).write(b'{"url": "redis://me:hunter2@host:1/0"}\n')
    assert read(reader) == b'{"url": "redis://***@host:1/0"}\n'


def test_a_standard_error_that_is_no_file_stays(capsys):
    before = sys.stderr
    sturdy_stderr(str).write(b"said\n")
    assert sys.stderr is before
    assert capsys.readouterr().err == "said\n"
