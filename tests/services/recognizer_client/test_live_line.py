import pytest

from services.recognizer_client.live_line import live_line
from services.recognizer_client.transcript import Alternative, StreamEvent


def event(text, *, is_final=False):
    return StreamEvent(arrival_s=0.0, is_final=is_final, text=text, alternatives=(Alternative(text, 1.0),), words=())


def show_all(show, *events):
    for one in events:
        show(one)
    raise KeyError


def test_the_line_has_all_utterances_and_is_empty_at_last_also_after_an_error(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "13")
    events = [event("one"), event("one two", is_final=True), event("", is_final=True), event("three")]
    with pytest.raises(KeyError), live_line() as show:
        show_all(show, *events)
    shown = capsys.readouterr().out.split("\r")
    assert [line.rstrip() for line in shown] == ["", "one", "one two", "one two", "…e two three", "", ""]
