import json
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonorant.serving.labels import BadLabels, Labels, LabelsFile, check_labels, parse_labels


def test_labels_are_versions_beside_the_canarys_share():
    content = b'{"stable": 3, "canary": 4, "canary_share": 0.05, "best": 3}'
    labels = parse_labels(content)
    assert labels == Labels({"stable": 3, "canary": 4, "best": 3}, 0.05)
    assert (labels.of(3), labels.of(5)) == (("best", "stable"), ())
    assert parse_labels(b"{}") == Labels()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b'{"stable": 3', "not JSON"),
        (b"\xff\xfe{}", "not JSON"),
        (b"[" * 60_000, "not JSON"),
        (b"[3]", "expected an object"),
        (b'{"stable": "3"}', "stable=3: expected a version, such as 3, without quotes"),
        (b'{"stable": true}', "stable=True: expected a version"),
        (b'{"stable": -1}', "stable=-1: expected a version"),
        (b'{"stable": 9223372036854775808}', "expected a version"),
        (b'{"stable": 3, "stable": 4}', "twice among stable, stable"),
        (b'{"7": 3}', "label '7': expected a letter"),
        (b'{"a@b": 3}', "label 'a@b'"),
        (b'{"stable": 3, "canary": 4, "canary_share": -0.1}', "canary_share=-0.1: expected a number from 0 to 1"),
        (b'{"stable": 3, "canary": 4, "canary_share": 1.5}', "canary_share=1.5"),
        (b'{"stable": 3, "canary": 4, "canary_share": NaN}', "canary_share=nan"),
        (b'{"stable": 3, "canary": 4, "canary_share": true}', "canary_share=True"),
        (b'{"stable": 3, "canary": 4, "canary_share": "5%"}', "canary_share=5%"),
        (b'{"canary": 4, "canary_share": 0.1}', "expected versions labelled stable and canary beside it"),
        (b" " * (1 << 16) + b"{}", "expected 65536 at most"),
    ],
)
def test_what_is_wrong_with_labels_is_named(content, reason):
    with pytest.raises(BadLabels) as caught:
        parse_labels(content)
    assert reason in str(caught.value)


def test_the_share_is_no_label():
    with pytest.raises(BadLabels, match="canary_share"):
        check_labels({"canary_share": 1})


@given(share=st.fractions(0, 1, max_denominator=64), streams=st.integers(0, 300))
def test_the_canary_has_its_share_of_any_first_streams_to_one(share, streams):
    labels = Labels({"stable": 1, "canary": 2}, float(share))
    taken = sum(map(labels.is_canary, range(streams)))
    assert abs(taken - streams * share) < 1 + Fraction(1, 10**9)


def test_a_malformed_file_is_told_once_and_changes_nothing(tmp_path):
    file = LabelsFile(tmp_path)
    assert (file.poll(), file.labels) == ("", Labels())
    file.path.write_text(json.dumps({"stable": 3}))
    assert (file.poll(), file.labels) == ("", Labels({"stable": 3}))
    file.path.write_text('{"stable": 4')
    assert ["not JSON" in file.poll(), file.poll(), file.labels] == [True, "", Labels({"stable": 3})]
    file.path.unlink()
    file.path.mkdir()
    assert ["cannot be read" in file.poll(), file.poll(), file.labels] == [True, "", Labels({"stable": 3})]
    file.path.rmdir()
    assert (file.poll(), file.labels) == ("", Labels({"stable": 3}))  # it may be about to be written anew
    assert (file.poll(), file.labels) == ("", Labels())


def test_a_file_that_never_was_valid_says_nothing(tmp_path):
    file = LabelsFile(tmp_path)
    file.path.write_text("{")
    assert ("not JSON" in file.poll(), file.known) == (True, False)
    file.path.write_text('{"stable": 1}')
    assert (file.poll(), file.known, file.labels) == ("", True, Labels({"stable": 1}))


def test_labels_are_few():
    with pytest.raises(BadLabels, match="9 labels: expected 8 at most"):
        check_labels({f"x{number}": number for number in range(9)})
