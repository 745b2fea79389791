"""Reference and hypothesis one above the other, each word above its counterpart: as text, and as a page of HTML."""

import html
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from rich.cells import cell_len

from sonorant.text.alignment import Alignment, Kind
from sonorant.text.visible import visible

__all__ = ["Column", "blocks", "page", "render"]

_MARKS: Mapping[Kind, str] = {"hit": "", "substitution": "S", "insertion": "I", "deletion": "D"}
_GAP = "*"
_LABELS = ("REF:", "HYP:", "")


class Column(NamedTuple):
    """One step as text: reference, hypothesis and the error's letter, padded to one width on the screen."""

    kind: Kind
    cells: tuple[str, str, str]


def render(alignment: Alignment) -> str:
    """Return three lines, REF, HYP and the errors' letters, with each step's words one above the other."""
    lines = []
    for row, label in enumerate(_LABELS):
        cells = [label.ljust(len(_LABELS[0])), *(column.cells[row] for column in _columns(alignment))]
        lines.append(" ".join(cells).rstrip())
    return "\n".join(lines)


def blocks(alignment: Alignment, width: int) -> Iterator[tuple[Column, ...]]:
    """Yield the columns in blocks that fit into `width` cells of a terminal, labels included; at least one each."""
    block: list[Column] = []
    used = len(_LABELS[0])
    for column in _columns(alignment):
        needed = 1 + cell_len(column.cells[0])
        if block and used + needed > width:
            yield tuple(block)
            block, used = [], len(_LABELS[0])
        block.append(column)
        used += needed
    yield tuple(block)


def page(title: str, summary: Iterable[str], alignments: Mapping[str, Alignment]) -> str:
    """Return a page of HTML with the lines of `summary` and the alignment of each utterance; all text is escaped.

    The page is one file without scripts. Errors differ by letter as well as by colour.
    """
    return _PAGE.format(
        title=_escaped(title),
        style=_STYLE,
        summary="\n".join(f"<p>{_escaped(line)}</p>" for line in summary),
        utterances="\n".join(_utterance(name, alignment) for name, alignment in alignments.items()),
    )


def _columns(alignment: Alignment) -> Iterator[Column]:
    for step in alignment.steps:
        said, heard = visible(step.reference), visible(step.hypothesis)
        cells = (said or _GAP * cell_len(heard), heard or _GAP * cell_len(said), _MARKS[step.kind])
        yield Column(step.kind, _padded(cells))


def _padded(cells: tuple[str, str, str]) -> tuple[str, str, str]:
    """Pad by the cells that a terminal gives each character, two for one of Hangul."""
    width = max(map(cell_len, cells))
    first, second, third = (cell + " " * (width - cell_len(cell)) for cell in cells)
    return first, second, third


def _escaped(text: str) -> str:
    return html.escape(visible(text))


def _utterance(name: str, alignment: Alignment) -> str:
    heading = f"<h2>{_escaped(name)} <small>{alignment.errors} errors</small></h2>"
    return f'<section>{heading}\n<div class="steps">{"".join(_steps(alignment))}</div></section>'


def _steps(alignment: Alignment) -> Sequence[str]:
    return [
        f'<span class="{step.kind}"><b>{_cell(step.reference)}</b><b>{_cell(step.hypothesis)}</b>'
        f"<i>{_MARKS[step.kind]}</i></span>"
        for step in alignment.steps
    ]


def _cell(text: str) -> str:
    return "␣" if text == " " else _escaped(text) or "–"


_STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.4 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem; }
h2 { font-size: 1rem; margin: 1.5rem 0 0.3rem; overflow-wrap: anywhere; }
small { font-weight: normal; opacity: 0.7; }
.steps { display: flex; flex-wrap: wrap; gap: 0.2rem; }
.steps span { display: inline-flex; flex-direction: column; padding: 0.1rem 0.3rem; border-radius: 0.2rem; }
.steps b { font-weight: normal; overflow-wrap: anywhere; }
.steps i { font-size: 0.7rem; font-style: normal; min-height: 1em; }
.substitution { background: #e69f0055; }
.insertion { background: #56b4e955; }
.deletion { background: #d55e0055; }
"""

_PAGE = """<!DOCTYPE html>
<html>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<h1>{title}</h1>
{summary}
<p>Above: reference. Below: hypothesis. S: substitution, I: insertion, D: deletion.</p>
{utterances}
</body>
</html>
"""
