import pytest

from sonorant.text.written_figures import respell_figures


@pytest.mark.parametrize(
    ("text", "spelling"),
    [
        ("$5,200 and 1,234,567", "$5200 and 1234567"),
        ("12, 500", "12, 500"),
        ("$ 5, 50 %, 20 °C", "$5, 50%, 20°C"),
        ("3:30pm, 4 P.M.", "3:30 p m, 4 P m"),
        ("May 4th, the 21st of July, the 4th time", "May 4, 21 July, the 4th time"),
        ("5km, the 1980s", "5 km, the 1980s"),
        ("2.5 million, $3 million", "2500000, $3000000"),
        ("-5°, -$5, minus 5, \u22125", "\u22125°, \u2212$5, \u22125, \u22125"),
        ("1990-1995, a 5-year plan, - 5 people", "1990-1995, a 5-year plan, - 5 people"),
        ("I am 1 of 10", "I am 1 of 10"),
        ("555-1234, 555 1234, 1-800-555-1234", "5551234, 5551234, 18005551234"),
        ("300 1999 models, 3.555 1234", "300 1999 models, 3.555 1234"),
        ("5 dollars and 5 cents, 3 to 5 euros, 19 or $10", "$5.05, €3 to €5, 19 or $10"),
    ],
)
def test_english(text, spelling):
    assert respell_figures(text, "en") == spelling


@pytest.mark.parametrize(
    ("text", "spelling"),
    [
        ("1 234 personnes, 12\u202f500", "1234 personnes, 12500"),
        ("06 12 34 56 78, en 2025 300 personnes", "06 12 34 56 78, en 2025 300 personnes"),
        ("15h30, 15 h 30, 15:30, 15\u00a0heures, 8h", "15 h 30, 15 h 30, 15 h 30, 15 h, 8 h"),
        ("5 €, 5€, 10 pour cent", "5€, 5€, 10%"),
        ("2,5 millions", "2500000"),
        ("2ème, 21e, 1er, 100km", "2e, 21e, 1er, 100 km"),
        ("moins 5°, -5°", "\u22125°, \u22125°"),
    ],
)
def test_french(text, spelling):
    assert respell_figures(text, "fr") == spelling


@pytest.mark.parametrize(
    ("text", "spelling"),
    [
        ("30,000원, 3만 원, 3만원", "30000원, 30000원, 30000원"),
        ("1억 2,000만 원, 1.5억 원, 3만 5천 원", "120000000원, 150000000원, 35000원"),
        ("15:30, 3시30분에", "15시 30분, 3시 30분에"),
        ("20 명이 10 km", "20명이 10km"),
        ("20 사람", "20 사람"),
        ("영하 15도, -15도", "\u221215도, \u221215도"),
    ],
)
def test_korean(text, spelling):
    assert respell_figures(text, "ko") == spelling


@pytest.mark.parametrize(
    ("text", "language"),
    [("It cost $5,200 at 3:30pm on May 4th, -5°", "en"), ("1 234 €, 15h30, -5 °C", "fr"), ("3만 5천 원, 15:30", "ko")],
)
def test_a_spelling_is_kept(text, language):
    once = respell_figures(text, language)
    assert respell_figures(once, language) == once
