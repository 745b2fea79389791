from sonorant.text.visible import visible


def test_control_characters_are_escaped():
    assert visible("a\x1b[31mb\u202e\udcff é안") == "a\\x1b[31mb\\u202e\\udcff é안"
