"""Where a corpus' recordings come from, in words."""

from pathlib import Path

from sonorant.recipe.corpus import CorpusRecipe

__all__ = ["SOURCE", "corpus_source"]

SOURCE = "SOURCE"
"""File beside recordings that says it in a line; who makes or downloads them writes it."""

_LONGEST = 500  # characters


def corpus_source(corpus: CorpusRecipe, data: Path) -> str:
    """Return what the corpus' file SOURCE says, in its folder or the one above; else its folder and layout."""
    path = data / corpus.path
    for folder in (path, path.parent):
        try:
            with (folder / SOURCE).open(encoding="utf-8", errors="replace") as file:
                said = file.read(_LONGEST).strip()
        except OSError:
            continue
        if said and folder != data:
            return said
    return f"{corpus.path} (layout: {corpus.reader})"
