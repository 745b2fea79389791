from sonorant.report.confusions import confusion_table


def _table(*pairs):
    table = confusion_table([{"reference": said, "hypothesis": heard} for said, heard in pairs])
    return {
        (row.word, column): cell.count
        for row in table.rows
        for column, cell in zip(table.columns, row.cells, strict=True)
    }


def test_counts_hits_substitutions_insertions_and_deletions():
    counts = _table(("one two", "one nine"), ("one", "one two"), ("nine one", "one"))
    assert counts["one", "one"] == 3
    assert counts["two", "nine"] == 1
    assert counts["–", "two"] == 1
    assert counts["nine", "–"] == 1
    assert sum(counts.values()) == 6


def test_a_large_vocabulary_shows_the_words_with_most_errors():
    hits = [(f"w{i}", f"w{i}") for i in range(40)]
    counts = _table(*hits, ("zebra", "giraffe"))
    assert counts["zebra", "giraffe"] == 1
    assert len({said for said, _ in counts}) == 25
