import json
import os
import re
import subprocess
import sys
import unicodedata

import pytest
from click.testing import CliRunner

from sonorant.cli.score import command
from sonorant.errors import BadCorpus

REFERENCE = "u1 seven two nine\nu2 one\n"
HYPOTHESIS = "u1 seven too nine one\nu2 one\n"


@pytest.fixture
def score(tmp_path):
    def run(reference, hypothesis, *options):
        (tmp_path / "ref").write_text(reference)
        (tmp_path / "hyp").write_text(hypothesis)
        return CliRunner().invoke(
            command, [str(tmp_path / "ref"), str(tmp_path / "hyp"), *options], catch_exceptions=False
        )

    return run


def test_it_prints_rate_interval_and_counts(score):
    lines = score(REFERENCE, HYPOTHESIS).output.splitlines()
    assert lines[0].startswith("WER: 50.00% (95 % interval 0.00% to ")
    assert lines[1] == "2 errors in 4 words of 2 utterances: S 1, I 1, D 0"
    assert lines[2] == "SER: 50.00% (1 of 2 utterances with an error)"


def test_without_a_word_in_the_references_there_is_no_rate(score):
    lines = score('{"id": "a", "text": ""}', '{"id": "a", "text": "x y"}').output.splitlines()
    assert lines[:2] == [
        "WER: none, as no word is in the references",
        "2 errors in 0 words of 1 utterances: S 0, I 2, D 0",
    ]
    document = json.loads(score('{"id": "a", "text": ""}', '{"id": "a", "text": "x y"}', "--json").output)
    assert (document["rate"], document["interval_95"], document["insertions"]) == (None, None, 2)


def test_an_id_in_parentheses_at_the_end_of_a_line_is_no_word(score):
    for arguments in ((), ("--format", "trn")):
        done = score("good morning (spk-u1)\nyes (spk-u2)\n", "yes (spk-u2)\ngood evening (spk-u1)\n", *arguments)
        assert done.stdout.startswith("WER: 33.33%")
        assert done.stdout.endswith("\nformat: trn\n")


def test_the_format_that_was_read_stands_in_the_result(score):
    assert score(REFERENCE, HYPOTHESIS).stdout.splitlines()[-1] == "format: kaldi"
    spoken = '{"id": "george_yes", "text": "yes"}'
    done = score(spoken, "george_yes no\n")
    assert done.stdout.startswith("WER: 100.00%")
    assert done.stdout.endswith("\nformat: jsonl of the reference, kaldi of the hypothesis\n")
    document = json.loads(score(spoken, "george_yes no\n", "--json").stdout)
    assert document["formats"] == {"reference": "jsonl", "hypothesis": "kaldi"}


def test_lines_that_fit_two_formats_are_told_and_settled_by_an_option(score):
    done = score("5 apples\n7 pears\n", "5 apple\n7 pears\n")
    assert done.stdout.startswith("WER: 25.00%")
    assert "fit kaldi and plain, and are read as plain; give --format kaldi if the first word" in done.stderr
    for format, rate in (("kaldi", "50.00"), ("plain", "25.00")):
        settled = score("5 apples\n7 pears\n", "5 apple\n7 pears\n", "--format", format)
        assert (settled.stdout.partition("%")[0], settled.stderr) == (f"WER: {rate}", "")


def test_alignments_show_each_utterance(score):
    output = score(REFERENCE, HYPOTHESIS, "--alignments").output
    assert "u1 (2 errors)\nREF: seven two nine ***\nHYP: seven too nine one\n           S        I\n" in output


def test_json_holds_the_same_figures(score):
    document = json.loads(score(REFERENCE, HYPOTHESIS, "--json", "--alignments", "--confusions", "1").output)
    assert document["rate"] == 0.5
    assert [document[key] for key in ("substitutions", "insertions", "deletions", "utterances")] == [1, 1, 0, 2]
    assert document["alignments"]["u2"] == [{"kind": "hit", "reference": "one", "hypothesis": "one"}]
    assert document["confusions"] == [{"said": "", "heard": "one", "count": 1}]


def test_characters_are_scored_on_request(score):
    assert score("abcd\n", "abxd\n", "--characters").output.startswith("CER: 25.00%")


def test_spelling_counts_unless_normalised(score):
    assert score("Seven, two.\n", "seven two\n").output.startswith("WER: 100.00%")
    assert score("Seven, two.\n", "seven two\n", "--normalise").output.startswith("WER: 0.00%")


@pytest.mark.parametrize("text", ["caf\u00e9", "\ud55c\uad6d\uc5b4"])
@pytest.mark.parametrize("options", [(), ("--characters",)])
def test_texts_that_unicode_writes_in_two_ways_are_the_same(score, text, options):
    apart = unicodedata.normalize("NFD", text)
    assert apart != text
    assert "0 errors in" in score(f"{text}\n", f"{apart}\n", *options).output


def test_written_forms_are_compared_on_request(score):
    said = "We paid $5.50 at 3:30 p.m., 2 each.\n"
    heard = "we paid five dollars fifty cents at three thirty pm two each\n"
    assert not score(said, heard, "--normalise", "--format", "plain").output.startswith("WER: 0.00%")
    assert score(said, heard, "--normalise", "--format", "plain", "--written", "en").output.startswith("WER: 0.00%")
    french = score("cinq pour cent\n", "5\u00a0%\n", "--format", "plain", "--written", "fr")
    assert french.output.startswith("WER: 0.00%")


def test_two_languages_are_refused(score):
    done = score("one\n", "one\n", "--written", "en", "--language", "fr")
    assert (done.exit_code, "--language fr with --written en: expected one language" in done.output) == (2, True)
    assert score("one\n", "one\n", "--written", "fr", "--language", "fr").exit_code == 0


@pytest.mark.parametrize(
    ("language", "said", "heard"),
    [
        ("en", "It cost $5,200.", "it cost five thousand two hundred dollars"),
        ("en", "May 4th", "may fourth"),
        ("en", "On the 4th of July, 1776", "on the fourth of july seventeen seventy six"),
        ("en", "3:30pm", "three thirty p m"),
        ("en", "the 4th time", "the fourth time"),
        ("en", "3.5 percent of 2,500,000", "three point five percent of two point five million"),
        ("en", "-5°", "minus five degrees"),
        ("en", "It costs 5 dollars.", "it costs five dollars"),
        ("en", "5 dollars and 50 cents, or 5€", "five dollars and fifty cents or five euros"),
        ("en", "1 to 5 dollars", "one to five dollars"),
        ("en", "2.5 million dollars", "two point five million dollars"),
        ("en", "10 kilometers per hour, at -5 degrees", "ten kilometers per hour at minus five degrees"),
        ("en", "1234", "one two three four"),
        ("en", "1 2 3 4", "one two three four"),
        ("en", "Call (212) 555-1234.", "call two one two five five five one two three four"),
        ("fr", "10 kilomètres par heure", "dix kilomètres par heure"),
        ("fr", "5 euros et 50 centimes", "cinq euros cinquante"),
        ("ko", "10 킬로미터의 5 퍼센트", "십 킬로미터의 오 퍼센트"),
        ("ko", "010-1234-5678", "공일공 일이삼사 오육칠팔"),
        ("ko", "₩5,000", "오천 원"),
        ("fr", "1 234 personnes", "mille deux cent trente quatre personnes"),
        ("fr", "15h30", "quinze heures trente"),
        ("fr", "le 2ème jour", "le deuxième jour"),
        ("ko", "30,000원", "삼만 원"),
        ("ko", "1.5억 원", "일점오억 원"),
    ],
)
def test_figures_are_compared_whatever_their_spelling(score, language, said, heard):
    output = score(f"{said}\n", f"{heard}\n", "--normalise", "--format", "plain", "--written", language).output
    assert output.startswith("WER: 0.00%")


@pytest.mark.parametrize(
    ("said", "heard"),
    [
        ("5 dollars", "five euros"),
        ("5 degrees", "five degrees celsius"),
        ("19 or 10 dollars", "nineteen dollars or ten dollars"),
        ("3.5 kilometers", "thirty five kilometers"),
        ("1234", "one two four three"),
    ],
)
def test_other_amounts_are_errors(score, said, heard):
    output = score(f"{said}\n", f"{heard}\n", "--normalise", "--format", "plain", "--written", "en").output
    assert not output.startswith("WER: 0.00%")


def test_a_minus_counts_in_written_forms(score):
    output = score("-5°\n", "five degrees\n", "--normalise", "--format", "plain", "--written", "en").output
    assert output.startswith("WER: 100.00%")


def test_a_language_has_rules_of_its_own(score):
    assert score("L’eau d'ici\n", "l' eau d'ici\n", "--normalise").output.startswith("WER: 100.00%")
    assert score("L’eau d'ici\n", "l' eau d'ici\n", "--language", "fr").output.startswith("WER: 0.00%")


def test_spaces_are_ignored_on_request(score):
    reference, hypothesis = "나는 학교에 갑니다\n", "나는학교 에 갑니다\n"
    assert score(reference, hypothesis).output.startswith("WER: 66.67%")
    assert score(reference, hypothesis, "--ignore-spaces").output.startswith("sWER: 0.00%")
    assert score(reference, hypothesis, "--ignore-spaces", "--characters").output.startswith("CER: 0.00%")


def test_bleu_is_added_on_request(score):
    output = score("the cat sat on the mat\n", "the cat sat on a mat\n", "--bleu").output
    assert "BLEU: 0.5859 of words, 0.8671 of characters" in output
    document = json.loads(score("go\n", "stop\n", "--bleu", "--json").output)
    assert document["bleu"] == {"words": 0.0, "characters": pytest.approx(0.1394721495522781)}


def test_speakers_come_from_the_reference_or_a_file(score, tmp_path):
    reference = "\n".join(json.dumps({"id": f"u{i}", "text": "one two", "speaker": f"s{i}"}) for i in range(10))
    hypothesis = "\n".join(f"u{i} one {'two' if i else ''}" for i in range(10))
    assert "10 speakers resampled)" in score(reference, hypothesis).output.splitlines()[0]
    kaldi = "\n".join(f"u{i} one two" for i in range(10))
    assert "speakers" not in score(kaldi, hypothesis).output
    (tmp_path / "utt2spk").write_text("\n".join(f"u{i} s{i}" for i in range(10)))
    document = json.loads(score(kaldi, hypothesis, "--utt2spk", str(tmp_path / "utt2spk"), "--json").output)
    assert document["interval_resamples"] == "speakers"


def test_alignments_are_coloured_and_folded_on_a_terminal(score, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "20")
    monkeypatch.setenv("TERM", "xterm")
    output = score(REFERENCE, HYPOTHESIS, "--alignments").output
    assert "\x1b[33mS" in output
    plain = re.sub(r"\x1b\[[\d;]*m", "", output)
    blocks = ["REF: seven two nine", "HYP: seven too nine", "           S", "REF: ***", "HYP: one", "     I"]
    assert [line.rstrip() for line in plain.splitlines()][1:7] == blocks


def test_a_page_of_alignments_is_written(score, tmp_path):
    done = score("u1 seven <b>\n", "u1 seven too\n", "--html", str(tmp_path / "new" / "page.html"))
    page = (tmp_path / "new" / "page.html").read_text()
    assert "WER: 50.00%" in done.output
    assert "WER: 50.00%" in page
    assert "<b>&lt;b&gt;</b><b>too</b><i>S</i>" in page


def scored(*arguments, **options):
    command = [sys.executable, "-m", "sonorant.cli", "score", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, **options)


def test_mismatched_ids_end_with_one_line_and_exit_code_65(tmp_path):
    (tmp_path / "ref").write_text("u1 one\nu2 two\n")
    (tmp_path / "hyp").write_text("u1 one\nu3 two\n")
    done = scored(tmp_path / "ref", tmp_path / "hyp")
    assert done.returncode == 65
    assert done.stdout == ""
    assert done.stderr.startswith("sonorant: 1 of 2 utterances of")
    assert "u2" in done.stderr
    assert done.stderr.count("\n") == 1


def test_names_and_ids_with_control_characters_keep_to_their_lines(tmp_path):
    path = tmp_path / "two\nlines"
    path.write_text(json.dumps({"id": "a\n\x1b[2J", "text": "one"}))
    assert scored(path, path, "--alignments").stdout.startswith("a\\n\\x1b[2J (0 errors)\nREF: one\n")
    (tmp_path / "hyp").write_text('{"id": "other", "text": "one"}')
    done = scored(path, tmp_path / "hyp")
    assert f"utterances of {tmp_path}/two\\nlines are not in {tmp_path}/hyp: a\\n\\x1b[2J;" in done.stderr
    assert done.stderr.count("\n") == 1


def test_names_and_ids_that_are_not_utf_8_are_scored_and_shown(tmp_path):
    """Files have such names, and `sonorant transcribe --json` takes ids from them."""
    path = tmp_path / os.fsdecode(b"\xff")
    path.write_text(json.dumps({"id": "u\udcfe", "text": "one two"}))
    done = scored(path, path, "--alignments")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("u\\udcfe (0 errors)\nREF: one two\n")
    document = scored(path, path, "--alignments", "--json").stdout
    assert list(json.loads(document)["alignments"]) == ["u\udcfe"]
    (tmp_path / "hyp").write_text('{"id": "other", "text": "one"}')
    done = scored(path, tmp_path / "hyp")
    assert (done.returncode, done.stderr.count("\n")) == (65, 1)
    assert f"1 of 1 utterances of {tmp_path}/\\udcff are not in {tmp_path}/hyp: u\\udcfe;" in done.stderr


def test_links_to_nothing_and_folders_are_named(tmp_path):
    os.symlink("nothing", tmp_path / "link")
    for path, fault in ((tmp_path / "link", "does not exist"), (tmp_path, "is a directory")):
        done = scored(path, path)
        assert (done.returncode, done.stdout) == (2, "")
        assert f"File '{path}' {fault}" in done.stderr


def test_pipes_are_read(tmp_path):
    (tmp_path / "hyp").write_text(HYPOTHESIS)
    reader, writer = os.pipe()
    os.write(writer, REFERENCE.encode())
    os.close(writer)
    done = scored(f"/dev/fd/{reader}", tmp_path / "hyp", pass_fds=[reader])
    os.close(reader)
    assert (done.returncode, done.stdout.partition(" ")[0], done.stderr) == (0, "WER:", "")


@pytest.mark.parametrize("line", ["[" * 100_000, '{"id": ' + "7" * 5000 + ', "text": "x"}', "\0", '{"id": "\0'])
def test_a_line_that_is_no_transcript_is_named(tmp_path, line):
    (tmp_path / "ref").write_text('{"id": "u1", "text": "one"}\n' + line)
    done = scored("--format", "jsonl", tmp_path / "ref", tmp_path / "ref")
    assert done.returncode == 65
    assert done.stderr.startswith(f"sonorant: {tmp_path}/ref:2: ")
    assert len(done.stderr) < 400


def test_times_of_words_are_compared_on_request(score):
    said = '{"id": "u1", "text": "one two", "words": [["one", 0.5, 1.0], ["two", 1.5, 2.0]]}\n'
    heard = '{"id": "u1", "text": "one", "words": [{"word": "one", "start_s": 0.6, "end_s": 0.8}]}\n'
    lines = score(said, heard, "--times").output.splitlines()
    assert lines[3] == "word times: of 1 recognized words (2 of the reference have times, 1 heard)"
    assert lines[4].startswith("word starts: 0.100 s (median of absolute deviations)")
    assert lines[5].endswith("median -0.200")
    times = json.loads(score(said, heard, "--times", "--json").output)["word_times"]
    counts = [times[key] for key in ("words", "reference_words", "hypothesis_words")]
    assert (counts, times["end_s"]["absolute_median"]) == ([1, 2, 1], pytest.approx(0.2))
    assert "word_times" not in json.loads(score(said, heard, "--json").output)


def test_times_are_of_recordings_where_ids_are_others(score):
    said = '{"id": "up/1", "audio_filepath": "up%2F1.wav", "text": "one", "words": [["one", 0.5, 1.0]]}\n'
    heard = '{"id": "up%2F1", "file": "set/up%2F1.wav", "text": "one", "words": [["one", 0.5, 1.0]]}\n'
    figures = json.loads(score(said, heard, "--times", "--json").output)
    assert (figures["rate"], figures["word_times"]["words"]) == (0, 1)


def test_times_are_of_words_in_the_spelling_that_is_scored(score):
    said = '{"id": "u1", "text": "L’été, one", "words": [["L’été,", 0.5, 1.0], ["–", 1.0, 1.1], ["one", 1.5, 2.0]]}\n'
    heard = '{"id": "u1", "text": "l\'été ONE", "words": [["l\'été", 0.6, 1.2], ["ONE", 1.5, 2.0]]}\n'
    plain = score(said, heard, "--times", "--normalise", "--json").output
    times = json.loads(plain)["word_times"]
    assert [times[key] for key in ("words", "reference_words", "hypothesis_words")] == [2, 2, 2]
    assert times["start_s"]["absolute_mean"] == pytest.approx(0.05)
    with pytest.raises(BadCorpus, match="no recognized word has times in both files: 3 words"):
        score(said, heard, "--times")


@pytest.mark.parametrize("option", [("--written", "en"), ("--ignore-spaces",)])
def test_times_of_words_that_another_option_makes_are_refused_by_name(score, option):
    line = '{"id": "u1", "text": "one", "words": [["one", 0.5, 1.0]]}\n'
    done = score(line, line, "--times", *option)
    assert done.exit_code == 2
    assert f"--times with {option[0]}" in done.stderr
