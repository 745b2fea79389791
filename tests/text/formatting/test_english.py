import pytest

from sonorant.text.formatting import formatter

VERBATIM = [
    "no one knows",
    "one two three",  # who counts
    "a hundred people",
    "a million",
    "at this point five people",
    "we may first want to",
    "on the one hand",
    "one or two",
    "twenty thirty people",  # or 2030
    "twelve thirty",  # or 1230
    "the twenty second delay",  # or 22nd
    "nineteen ninety nine dollars",  # or $19.99
    "five foot six",
    "one tenth of a second",
    "one hundredth of a second",
    "the first time",
    "zero",
    "march on",
    "fifteen twenty",
    "he won",
    "oh no",
    "june five people came",
    "april three books",
    "he gave a quarter to two people",
    "sixteen oh one",  # or 1601, 16:01
    "eleven oh six people",
    "oh three hundred hours",  # or 0300
    "a one two three dash",
]


@pytest.mark.parametrize("text", VERBATIM)
def test_what_has_several_readings_stays_as_it_was_said(text):
    assert formatter("en").text(text) == text


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("nine one one", "911"),
        ("call five five five oh one double two", "call 5550122"),
        ("call five five five dash one two three four now", "call 555-1234 now"),
        ("one two three dash four five six dash", "123-456 dash"),
        ("eight double oh dash five five five dash one two three four", "800-555-1234"),
        ("two hundred and five dogs", "205 dogs"),
        ("between two hundred and five hundred people", "between 200 and 500 people"),
        ("two hundred and five thousand", "205,000"),
        ("twelve hundred people", "1200 people"),
        ("a hundred and five people", "105 people"),
        ("five million people", "5 million people"),
        ("two point five billion", "2.5 billion"),
        ("one million two hundred thousand", "1,200,000"),
        ("three point one four", "3.14"),
        ("zero point oh five", "0.05"),
        ("a twenty first century idea", "a 21st century idea"),
        ("the three hundred and sixty fifth day", "the 365th day"),
    ],
)
def test_numbers_are_figures(said, written):
    assert formatter("en").text(said) == written


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("march fifth twenty twenty five", "March 5, 2025"),
        ("on march fifth", "on March 5"),
        ("we march ten miles", "we march 10 miles"),
        ("june five twenty twenty five", "June 5, 2025"),
        ("june twenty twenty five", "June 2025"),
        ("january nineteen nineteen ninety", "January 19, 1990"),
        ("january twenty first two thousand six", "January 21, 2006"),
        ("the fifth of march nineteen oh five", "5 March 1905"),
        ("in nineteen eighty four", "in 1984"),
        ("in twenty thirty", "in 2030"),
        ("the nineteen eighties", "the 1980s"),
        ("on may first", "on May 1"),
    ],
)
def test_dates(said, written):
    assert formatter("en").text(said) == written


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("three thirty p m", "3:30 p.m."),
        ("three pm", "3 p.m."),
        ("twelve oh five a m", "12:05 a.m."),
        ("at twelve thirty", "at 12:30"),
        ("half past three", "3:30"),
        ("half past three p m", "3:30 p.m."),
        ("a quarter to one", "12:45"),
        ("quarter past nine", "9:15"),
        ("ten past three", "3:10"),
        ("three o'clock", "3 o'clock"),
    ],
)
def test_times(said, written):
    assert formatter("en").text(said) == written


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("five dollars", "$5"),
        ("pay june twenty dollars", "pay june $20"),
        ("a hundred dollars", "$100"),
        ("it costs five dollars fifty", "it costs $5.50"),
        ("five dollars and five cents", "$5.05"),
        ("five dollars and fifty people", "$5 and 50 people"),
        ("five million dollars", "$5 million"),
        ("two point five billion euros", "€2.5 billion"),
        ("fifty cents", "50 cents"),
        ("ten pounds sterling", "£10"),
        ("ten pounds of flour", "10 pounds of flour"),
        ("fifty percent", "50%"),
        ("three point five per cent", "3.5%"),
        ("sixty five miles per hour", "65 mph"),
        ("ten kilometers per hour", "10 km/h"),
        ("twenty degrees celsius", "20°C"),
        ("six feet two inches", "6 feet 2 inches"),
        ("two square meters", "2 m²"),
        ("sixteen gigabytes", "16 GB"),
    ],
)
def test_money_and_units(said, written):
    assert formatter("en").text(said) == written


@pytest.mark.parametrize(
    "text",
    [
        "nineteen eighty's",
        "twenty one's",
        "nine hundred and ninety nine's",
        "nineteen oh five's",
        "oh one two three four five",
    ],
)
def test_possessives_and_runs_of_several_readings_stay_as_they_were_said(text):
    assert formatter("en").text(text) == text


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("oh seven nine four six", "07946"),
        ("my zip code is oh double seven nine four", "my zip code is 07794"),
        ("two thousand oh eight", "2008"),
        ("march fifth two thousand oh eight", "March 5, 2008"),
        ("one oh five point five", "105.5"),
        ("in sixteen oh one", "in 1601"),
        ("at oh three hundred hours", "at 0300 hours"),
    ],
)
def test_an_oh_is_a_part_of_a_number(said, written):
    assert formatter("en").text(said) == written


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("oh nine one one", "oh 911"),
        ("oh five five five one two three four", "oh 5551234"),
        ("oh one hundred people", "oh 100 people"),
        ("b oh seven nine four six", "b oh 7946"),
        ("one oh five point two point three", "105 point 2.3"),
        ("two thousand oh eight p m", "2000 oh 8 p.m."),
    ],
)
def test_an_oh_that_may_be_an_interjection_is_none(said, written):
    assert formatter("en").text(said) == written


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("no one until five p m", "no one until 5 p.m."),
        ("i was born in nineteen seventy four and two years later", "i was born in 1974 and two years later"),
        ("call five five five one two three four or one of our agents", "call 5551234 or one of our agents"),
        ("covid nineteen or ten dollars", "covid 19 or $10"),
        ("in nineteen seventy four one's choices", "in 1974 one's choices"),
        ("three ten-dollar bills", "three $10 bills"),
    ],
)
def test_a_number_is_read_without_its_neighbours(said, written):
    assert formatter("en").text(said) == written


@pytest.mark.parametrize(
    "text",
    [
        "fifty or sixty thousand",
        "fifty or sixty or seventy thousand",
        "twenty or thirty thousand people",
        "two or three thousand dollars",
        "one or two hundred miles",
        "between two and three hundred people",
        "between two hundred and five hundred thousand",
        "two or three hundred million dollars",
        "five or six thousand five hundred",
    ],
)
def test_a_scale_that_two_numbers_may_share_is_not_given_to_one(text):
    assert formatter("en").text(text) == text


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("five to ten dollars", "$5 to $10"),
        ("between five and ten dollars", "between $5 and $10"),
        ("five or ten cents", "5 or 10 cents"),
        ("one or two percent", "1 or 2%"),
        ("two point five to three percent", "2.5 to 3%"),
        ("two to three million people", "2 to 3 million people"),
        ("twenty to thirty million dollars", "$20 to $30 million"),
        ("five thousand or six thousand people", "5000 or 6000 people"),
        ("twenty to two thousand five hundred people", "20 to 2500 people"),
        ("a thousand or two thousand", "1000 or 2000"),
        ("five or ten people", "5 or 10 people"),
        ("two or three people", "two or three people"),
        ("from one to ten", "from 1 to 10"),
        ("i gave one to ten people", "i gave one to ten people"),
        ("this one or ten dollars", "this one or $10"),
        ("three to five p m", "3 to 5 p.m."),
        ("between three thirty and five p m", "between 3:30 and 5 p.m."),
        ("nine to five thirty p m", "9 to 5:30 p.m."),
        ("two or three o'clock", "2 or 3 o'clock"),
        ("ten to five p m", "ten to five p m"),  # or 4:50 p.m.
        ("twenty to eight", "twenty to eight"),  # or 7:40
        ("from twenty to eight", "from 20 to 8"),
        ("five or ten past three p m", "five or ten past three p m"),
        ("five or ten past ten p m", "five or ten past ten p m"),
        ("ten or five past five p m", "ten or five past five p m"),
        ("half a million or a million dollars", "half a million or $1 million"),
    ],
)
def test_of_two_numbers_that_share_what_they_count_both_are_written_or_none(said, written):
    assert formatter("en").text(said) == written


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("the first to third of may", "1 to 3 May"),
        ("from the first to the third of may", "from 1 to 3 May"),
        ("june first or second twenty twenty five", "June 1 or 2, 2025"),
        ("june first to the third of july", "June 1 to 3 July"),
        ("monday june third", "Monday, June 3"),
        ("on monday the third of june", "on Monday 3 June"),
        ("see you on monday", "see you on monday"),
        ("june first and second", "June 1 and 2"),
        ("june first and second place", "June 1 and second place"),
    ],
)
def test_all_days_of_a_date_are_written(said, written):
    assert formatter("en").text(said) == written


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("a dollar fifty", "$1.50"),
        ("a dollar and fifty cents", "$1.50"),
        ("a dollar", "a dollar"),
        ("a dollar fifty today", "a dollar fifty today"),
    ],
)
def test_one_dollar_is_written_with_its_cents(said, written):
    assert formatter("en").text(said) == written
