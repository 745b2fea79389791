from sonorant.recipe.leaves import leaves


def test_leaves_are_what_has_no_content_of_its_own():
    values = {"seed": 1, "stages": [{"name": "room"}, {}], "text": {"pieces": {"size": None}}, "words": [], "a/b": "c"}
    assert list(leaves(values)) == [
        (("seed",), 1),
        (("stages", "0", "name"), "room"),
        (("stages", "1"), {}),
        (("text", "pieces", "size"), None),
        (("words",), []),
        (("a/b",), "c"),
    ]


def test_a_value_without_a_path_is_no_leaf():
    assert list(leaves({})) == list(leaves(3)) == []
