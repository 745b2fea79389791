import json

import pytest

from sonorant.errors import BadCorpus
from sonorant.text.word_times import TimedWord, compare_times, read_word_times


def timed(*words):
    return [TimedWord(*word) for word in words]


def test_only_recognized_words_are_compared():
    said = {"a": timed(("one", 1.0, 1.5), ("two", 2.0, 2.5), ("six", 3.0, 3.5)), "b": timed(("one", 0.0, 1.0))}
    heard = {
        "a": timed(("oh", 0.0, 0.5), ("one", 1.1, 1.4), ("too", 9.0, 9.5), ("six", 2.8, 3.9)),
        "b": timed(("one", 0.0, 1.0)),
        "c": timed(("one", 5.0, 6.0)),
    }
    found = compare_times(said, heard)
    assert found.words == 3
    assert found.start == pytest.approx((0.0, 0.1, 0.1, 0.18))
    assert found.end == pytest.approx((0.0, 0.1, 0.5 / 3, 0.34))
    assert compare_times(said, {"a": heard["a"]}).words == 2


def test_nothing_to_compare_is_an_error():
    with pytest.raises(BadCorpus, match="1 words of the reference have some, 1 of the hypothesis"):
        compare_times({"a": timed(("one", 0.0, 1.0))}, {"a": timed(("two", 0.0, 1.0))})


def test_words_are_read_as_test_sets_and_transcripts_have_them(tmp_path):
    path = tmp_path / "words.jsonl"
    lines = [
        {"id": "a", "text": "one", "words": [["one", 0.5, 1.0]]},
        {"id": "b", "text": "one", "words": [{"word": "one", "start_s": 0.5, "end_s": 1, "confidence": 0.9}]},
        {"id": "c", "text": "one"},
    ]
    path.write_text("\n\n".join(map(json.dumps, lines)))
    assert read_word_times(path) == {"a": timed(("one", 0.5, 1.0)), "b": timed(("one", 0.5, 1.0)), "c": []}


@pytest.mark.parametrize(
    "line",
    [
        "a one",
        "[]",
        '{"text": "one"}',
        '{"id": "a", "words": 3}',
        '{"id": "a", "words": ["one"]}',
        '{"id": "a", "words": [["one", 0.5]]}',
        '{"id": "a", "words": [["one", "soon", 1.0]]}',
        '{"id": "a", "words": [["one", NaN, 1.0]]}',
        '{"id": "a", "words": [{"word": "one", "start_s": 0.5}]}',
        '{"id": "a", "words": [[1, 0.5, 1.0]]}',
        f'{{"id": "a", "words": [["one", 0.5, {10**400}]]}}',
        '{"id": null, "words": [["one", 0.5, 1.0]]}',
        "[" * 100_000,
    ],
)
def test_other_lines_are_refused_by_number(tmp_path, line):
    path = tmp_path / "words.jsonl"
    path.write_text(f'{{"id": "z"}}\n{line}\n')
    with pytest.raises(BadCorpus, match=r"words.jsonl:2: no times of words in it"):
        read_word_times(path)
