"""The page of results, in Markdown: two tables for each corpus, error rates and what training took."""

from collections.abc import Iterable, Mapping, Sequence
from statistics import mean

from sonorant.results.kept import KeptReport
from sonorant.results.systems import CorpusRows, Row

__all__ = ["render_page"]

_INTRODUCTION = """\
# Results

`make results` trains, exports and measures the systems of `recipes/results/systems.yaml` that have no report in
`docs/results/`, one after another, and writes this page (`make results ROWS='digits-*'` for a part). It goes on where
it stopped. Figures are those of the runs' reports, kept without the runs; `sonorant results run ROW --reports
runs/reports --page runs/results.md` trains a row anew.

These are small corpora, for development: error rates compare systems, and say little about large ones. WER and CER are
of streamed test sets, with a 95 % bootstrap interval over speakers or utterances; with several seeds, their mean with
the least and the greatest; a CER without one is of a report from before it had any. Trainings are limited by the
minutes of their recipes, on processors that other work may have shared: where the last column is `max_minutes`, another
machine makes more steps, and other error rates.
"""
_EARLIER = "†"


def render_page(corpora: Sequence[CorpusRows], kept: Mapping[str, KeptReport]) -> str:
    """Return the page; kept: the kept reports there are, by the names of their rows."""
    return "\n".join([_INTRODUCTION, *(_section(corpus, kept) for corpus in corpora)])


def _section(corpus: CorpusRows, kept: Mapping[str, KeptReport]) -> str:
    complete = {
        name: found for name, (_, rows) in corpus.systems.items() if (found := [r for r in rows if r.name in kept])
    }
    lines = [f"## {corpus.name}", "", corpus.about, ""]
    if complete:
        reports = {name: [kept[row.name] for row in rows] for name, rows in complete.items()}
        names = {name: _named(name, corpus, complete[name], kept) for name in complete}
        lines += [*_errors(reports, names), "", *_training(reports, names), ""]
    if any(kept[row.name]["digest"] != row.digest for row in corpus.rows if row.name in kept):
        lines += [f"{_EARLIER} of an earlier recipe; to be run again.", ""]
    if missing := [row.name for row in corpus.rows if row.name not in kept]:
        lines += ["Not run yet: " + ", ".join(f"`{name}`" for name in missing) + ".", ""]
    return "\n".join(lines)


def _named(name: str, corpus: CorpusRows, rows: Iterable[Row], kept: Mapping[str, KeptReport]) -> str:
    about = corpus.systems[name][0]
    earlier = any(kept[row.name]["digest"] != row.digest for row in rows)
    return f"`{name}`{_EARLIER if earlier else ''}" + (f", {about}" if about else "")


def _errors(reports: Mapping[str, Sequence[KeptReport]], names: Mapping[str, str]) -> list[str]:
    """Return the table of error rates: a line for each system, WER and CER of each test set."""
    sets = dict.fromkeys(one for found in reports.values() for report in found for one in report["wer"])
    header = ["system", "seeds", *(f"{one}, {rate}" for one in sets for rate in ("WER", "CER"))]
    lines = [_line(header), _line("---" for _ in header)]
    for name, found in reports.items():
        cells = [names[name], str(len(found))]
        for one in sets:
            of_set = [report for report in found if one in report["wer"]]
            cells += _rates(of_set, one) if of_set else ["", ""]
        lines.append(_line(cells))
    return lines


def _training(reports: Mapping[str, Sequence[KeptReport]], names: Mapping[str, str]) -> list[str]:
    """Return the table of what was trained, and what that took; of several seeds, means."""
    header = ["system", "recipe", "streaming", "augmentation", "LM", "mWER", "parameters", "minutes", "steps"]
    header += ["audio-h/s", "t_session", "ended by"]
    lines = [_line(header), _line("---" for _ in header)]
    for name, found in reports.items():
        system = found[0]["system"]
        lines.append(
            _line(
                [
                    names[name],
                    f"`{found[0]['recipe']}`",
                    *(_yes(system[key]) for key in ("streaming", "stages", "lm", "mwer")),
                    f"{found[0]['parameters']:,}",
                    f"{mean(r['train_seconds'] for r in found) / 60:.1f}",
                    f"{mean(r['steps'] for r in found):,.0f}",
                    f"{mean(r['audio_hours_per_second'] for r in found):.4f}",
                    f"{mean(r['t_session'] for r in found):.2f}",
                    ", ".join(sorted({r["stopped_because"] for r in found})),
                ]
            )
        )
    return lines


def _rates(reports: Sequence[KeptReport], test_set: str) -> list[str]:
    """Return WER and CER of a test set."""
    errors = [report["errors"][test_set] for report in reports]
    words = _rate([report["wer"][test_set] for report in reports], errors[0]["interval_95"])
    return [words, _rate([one["cer"] for one in errors], errors[0].get("cer_interval_95"))]


def _rate(rates: Sequence[float | None], interval: Sequence[float] | None) -> str:
    """Return one rate with its interval, if its report has one, or of several mean, least and greatest.

    A dash for a set without a word, which has no rate.
    """
    known = [rate for rate in rates if rate is not None]
    if not known:
        return "–"
    around = interval if len(known) == 1 else (min(known), max(known))
    shown = f"{100 * mean(known):.1f} %"
    return f"{shown} ({100 * around[0]:.1f} to {100 * around[1]:.1f})" if around else shown


def _yes(value: object) -> str:
    return "yes" if value else "no"


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"
