import json

import pytest

from sonorant.errors import BadCorpus
from sonorant.text.transcripts import pair_up, read_pair, read_speakers, read_transcripts


@pytest.fixture
def file(tmp_path):
    def write(text, name="file"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


@pytest.mark.parametrize(
    ("text", "format", "texts"),
    [
        ('{"id": "a", "text": "one two"}\n\n{"id": 7, "text": ""}\n', "jsonl", {"a": "one two", "7": ""}),
        ('{"audio_filepath": "a.wav", "text": "one"}', "jsonl", {"a.wav": "one"}),
        ("utt1 one two\nutt2\n\nutt-3\tthree\n", "kaldi", {"utt1": "one two", "utt2": "", "utt-3": "three"}),
        ("one (two) (ann-1)\n\n(bob-2)\nx\t(bob-3) \n", "trn", {"ann-1": "one (two)", "bob-2": "", "bob-3": "x"}),
        ("one (ann-1)\ntwo\n", "plain", {"1": "one (ann-1)", "2": "two"}),
        ("one two\n\n three \n", "plain", {"1": "one two", "2": "", "3": "three"}),
        ("7 one\n7 two\n", "plain", {"1": "7 one", "2": "7 two"}),
        ("\ufeffone\r\ntwo\r\n", "plain", {"1": "one", "2": "two"}),
        ("a1 one\ra2 two\n", "kaldi", {"a1": "one\ra2 two"}),
        ('{"id": null, "audio_filepath": "a.wav", "text": "one"}', "jsonl", {"a.wav": "one"}),
    ],
)
def test_formats_are_recognised_and_read(file, text, format, texts):
    transcripts = read_transcripts(file(text))
    assert (transcripts.format, transcripts.texts) == (format, texts)


def test_a_given_format_overrules_what_lines_look_like(file):
    assert read_transcripts(file("utt1 one\n"), "plain").texts == {"1": "utt1 one"}
    assert read_transcripts(file("abc one\n"), "kaldi").texts == {"abc": "one"}


_MANY = [f"{a}{b} x" for a in "abcd" for b in "efg"]


@pytest.mark.parametrize(
    ("reference", "hypothesis", "formats", "doubtful"),
    [
        ("u1 one\nu2 two\n", "u1 one\nu2 too\n", "kaldi kaldi", False),
        ("george_yes yes\njack_no no\n", "george_yes no\njack_no yes\n", "kaldi kaldi", False),
        ("0001 one\n0002 two\n", "0001 one\n0002 two\n", "kaldi kaldi", False),
        ("u1 one\nu2 two\n", "u1 one\nu3 two\n", "kaldi kaldi", False),
        ("george yes\njack no\n", "jack no\n\ngeorge yes\n", "kaldi kaldi", False),
        ("george yes\njack no\n", "jack no\ngeorge yes\n", "kaldi kaldi", True),
        ("\n".join(_MANY), "\n".join(_MANY), "kaldi kaldi", True),
        ("george yes\njack no\n", "george no\njack no\n", "plain plain", True),
        ("5 apples\n7 pears\n", "5 apple\n7 pears\n", "plain plain", True),
        ("5 apples\n7 pears\n", "five apples\n7 pears\n", "plain plain", False),
        ("yes\nno\n", "no\nyes\n", "plain plain", False),
        ("one a\none b\n", "one a\none c\n", "plain plain", False),
        ("u1 one\n", "one\n", "kaldi plain", False),
        ("good day (ann-1)\nyes (bob-2)\n", "yes (bob-2)\ngood (ann-1)\n", "trn trn", False),
        ("good day (ann-1)\nyes (bob-2)\n", "(ann-1)\n(bob-2)\n", "trn trn", False),
        ("it was cold (monday)\nyes (noon)\n", "it was (monday)\nyes (noon)\n", "trn trn", True),
        ("good day (ann-1)\n", "good day\n", "trn plain", False),
        ("good day\nyes\n", "good day (ann-1)\nyes (bob-2)\n", "plain trn", False),
        ("good day (ann-1)\nyes (bob-2)\n", "bob-2 yes\nann-1 good day\n", "trn kaldi", False),
        ("ann-1 good day\nbob-2 yes\n", "good day (ann-1)\nyes (bob-2)\n", "kaldi trn", False),
        ("ann-1 good day\n", "good day (ann-1)\nyes (bob-2)\n", "kaldi trn", False),
        ("it was cold\nyes\n", "it was (monday)\nyes (noon)\n", "plain plain", True),
        ('{"id": "ann", "text": "x"}', "x y (ann)\n", "jsonl trn", False),
        ('{"id": "ann", "text": "x"}', "ann x\n", "jsonl kaldi", False),
        ("ann x\n", '{"id": "ann", "text": "x"}', "kaldi jsonl", False),
        ('{"id": "ann", "text": "x"}', "x y\nx z\n", "jsonl plain", False),
        ("one two\nthree\n", "\n\n", "plain plain", False),  # nothing was recognised
        ("u1 one\nu2 two\n", "\n\n", "kaldi plain", False),
    ],
)
def test_formats_of_a_pair_are_detected_from_both_files(file, reference, hypothesis, formats, doubtful):
    pair = read_pair(file(reference), file(hypothesis, "other"))
    assert " ".join(one.format for one in pair) == formats
    assert {one.doubtful for one in pair} == {doubtful}


@pytest.mark.parametrize(
    ("reference", "hypothesis", "message"),
    [
        ("u1 one\nu2 two\n", "u1 one\nu2 two\nu1 three\n", r"other:3: id 'u1' comes a second time"),
        ("u1 one\nu2 two\n", "u2 one\n\nu2 two\n", r"other:3: id 'u2' comes a second time"),
        ("u1 one\nu1 two\nu2 x\n", "u1 one\nu2 two\n", r"file:2: id 'u1' comes a second time"),
        ('{"id": "u1", "text": "x"}', "u1 one\nu1 two\n", r"other:2: id 'u1' comes a second time"),
        ("u1 one\nu2 two\nu2 x\n", "u2 one\nu1 two\nu2 x\n", r"file:3: id 'u2' comes a second time"),
        ("u1 a\nu2 b\nu2 c\n", "u1 a\nu2 b\nu2 c\n", r"file:3: id 'u2' comes a second time.*; --format plain, if"),
        ("one (a_1)\ntwo (a_2)\n", "one (a_1)\ntwo (a_2)\nthree\n", r"other:3: no id in parentheses at its end"),
    ],
)
def test_an_id_that_comes_twice_in_one_of_two_files_is_named_with_its_line(file, reference, hypothesis, message):
    with pytest.raises(BadCorpus, match=message):
        read_pair(file(reference), file(hypothesis, "other"))


def test_plain_texts_whose_lines_begin_alike_are_plain(file):
    pair = read_pair(file("3d glasses\n3d prints\n"), file("3d glasses\n3d print\n", "other"))
    assert [one.format for one in pair] == ["plain", "plain"]


def test_comments_of_sclite_are_no_utterances(file):
    lines = ";; from channel A\none (a_1)\n;; and B\ntwo (a_2)\n"
    pair = read_pair(file(lines), file("one (a_1)\ntwo (a_2)\n", "other"))
    assert [(one.format, one.texts) for one in pair] == [("trn", {"a_1": "one", "a_2": "two"})] * 2


def test_a_file_of_comments_alone_is_no_trn_of_nothing(file):
    assert [one.format for one in read_pair(file(";; a\n"), file(";; b\n", "other"))] == ["plain", "plain"]


def test_a_trn_file_is_compared_by_its_ids_with_one_that_has_them_and_with_no_other(file):
    trn = file("good day (ann-1)\nyes (bob-2)\n")
    pairs = pair_up(*read_pair(file("bob-2 yes\nann-1 good day\n", "other"), trn))
    assert pairs == {"bob-2": ("yes", "yes"), "ann-1": ("good day", "good day")}
    with pytest.raises(BadCorpus, match=r"other looks plain and .*file looks trn: ids and line numbers cannot be"):
        pair_up(*read_pair(file("good day\nyes\n", "other"), trn))


def test_a_recognizer_that_recognised_nothing_is_compared(file):
    pairs = pair_up(*read_pair(file("one two\nthree\n"), file("\n\n", "other")))
    assert list(pairs.values()) == [("one two", ""), ("three", "")]
    with pytest.raises(BadCorpus, match=r"said.*no transcript"):
        read_pair(file("\n\n", "said"), file("one\n", "heard"))


def test_a_given_format_of_a_pair_leaves_no_doubt(file):
    pair = read_pair(file("5 apples\n"), file("5 apples\n", "other"), "kaldi")
    assert [(one.format, one.texts, one.doubtful) for one in pair] == [("kaldi", {"5": "apples"}, False)] * 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no transcript"),
        ("\n \n", "no transcript"),
        (b"\xff\xfe\x00", ":1: .*expected a text file in UTF-8"),
        (b"one\ntwo\ncaf\xe9 noir\n", ":3: .*expected a text file in UTF-8"),
        ('{"id": "a", "text": "x"}\n{"id": ', ":2: .*expected a JSON object"),
        ('{"id": "a", "text": 3}', ':1: no "text"'),
        ('{"text": "x"}', ":1: no id"),
        ('{"id": "a", "text": "x"}\n{"id": "a", "text": "y"}', ":2: id 'a' comes a second time"),
    ],
)
def test_a_file_that_is_no_transcripts_is_refused_with_its_line(file, text, message):
    with pytest.raises(BadCorpus, match=message):
        read_transcripts(file(text))


def test_a_line_of_trn_without_an_id_is_named(file):
    with pytest.raises(BadCorpus, match=r":2: no id in parentheses at its end; expected a text, then \(id\)"):
        read_transcripts(file("one (a-1)\ntwo\n"), "trn")


def test_pairs_follow_the_ids_not_the_order(file):
    reference, hypothesis = (
        file("u1 one\nu2 two\n"),
        file('{"id": "u2", "text": "too"}\n{"id": "u1", "text": "one"}', "h"),
    )
    pairs = pair_up(read_transcripts(reference), read_transcripts(hypothesis))
    assert list(pairs.items()) == [("u1", ("one", "one")), ("u2", ("two", "too"))]


def by_recording(file, reference, hypothesis):
    """Return the pairs of two files, given as (id, recording, text)."""
    said = [{"id": id, "audio_filepath": recording, "text": text} for id, recording, text in reference]
    heard = [{"id": id, "file": recording, "text": text} for id, recording, text in hypothesis]
    both = (file("\n".join(map(json.dumps, lines)), name) for lines, name in ((said, "said"), (heard, "heard")))
    return pair_up(*map(read_transcripts, both))


@pytest.mark.parametrize(
    ("reference", "hypothesis"),
    [
        (
            [("up/ann_1", "up%2Fann_1.wav", "up"), ("é" * 300, "4be1.wav", "down")],
            [("4be1", "set/4be1.wav", "town"), ("up%2Fann_1", "set/up%2Fann_1.wav", "up")],
        ),
        ([("1", "1.wav", "up"), ("a", "a/1.wav", "down")], [("x", "/set/a/1.wav", "town"), ("y", "/set/1.wav", "up")]),
        ([("1.wav", "./1.wav", "up"), ("2", "", "down")], [("1", "set/1.wav", "up"), ("2", "", "town")]),
    ],
)
def test_other_ids_are_paired_by_their_recordings(file, reference, hypothesis):
    pairs = by_recording(file, reference, hypothesis)
    assert list(pairs.items()) == [(reference[0][0], ("up", "up")), (reference[1][0], ("down", "town"))]


def test_a_recording_that_would_be_two_utterances_is_none(file):
    twice = [("x", "a/1.wav", "up"), ("y", "b/1.wav", "up")]
    with pytest.raises(
        BadCorpus, match=r"said are not in .*heard: one; both files must have the same ids, or recordings"
    ):
        by_recording(file, [("one", "1.wav", "up")], twice)


@pytest.mark.parametrize(
    ("reference", "hypothesis", "message"),
    [
        ("u1 a\nu2 b\n", "u1 a\n", "1 of 2 utterances of .*file are not in .*other: u2;"),
        ("u1 a\n", "u1 a\nu2 b\n", "1 of 2 utterances of .*other are not in .*file: u2;"),
        ("one\ntwo\n", "one\n", "2 lines and .* 1: plain files must be parallel"),
        ("u1 a\n", "one\n", "looks kaldi and .* looks plain"),
    ],
)
def test_files_that_do_not_match_are_refused_by_name(file, reference, hypothesis, message):
    with pytest.raises(BadCorpus, match=message):
        pair_up(read_transcripts(file(reference)), read_transcripts(file(hypothesis, "other")))


def test_speakers_stand_in_json_or_in_a_file_of_their_own(file):
    lines = (
        '{"id": "a", "text": "x", "speaker": "ann"}\n{"id": "b", "text": "y", "speaker": ""}\n{"id": "c", "text": ""}'
    )
    assert read_transcripts(file(lines)).speakers == {"a": "ann"}
    assert read_speakers(file("a ann\n\nb bob\nc cid\n"), ["b", "a"]) == {"b": "bob", "a": "ann"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a ann\nb bob eve\n", ":2: 3 fields, expected"),
        ("a ann\n", "no speaker of 2 of 3 utterances: b, c"),
        ("\n", "no speaker in it; expected an utterance's id and its speaker a line"),
    ],
)
def test_a_file_of_speakers_that_does_not_fit_is_refused(file, text, message):
    with pytest.raises(BadCorpus, match=message):
        read_speakers(file(text), ["a", "b", "c"])
