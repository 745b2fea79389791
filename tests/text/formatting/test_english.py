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
]


@pytest.mark.parametrize("text", VERBATIM)
def test_what_has_several_readings_stays_as_it_was_said(text):
    assert formatter("en").text(text) == text


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("nine one one", "911"),
        ("call five five five oh one double two", "call 5550122"),
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
        "ten oh one",  # or 10:01
        "five hundred oh one",
        "eleven oh eight people",
        "oh nine one one",  # or 911
        "oh one two three four five",
        "twenty double five",
        "nineteen eighty's",
        "twenty one's",
        "nine hundred and ninety nine's",
        "twenty one thirds",
        "ten twelfths",
        "ten and a half",
        "ten dollars and a half",
        "half a million dollars",
        "hundred and twenty people",
        "one point two point three",
        "nineteen ninety point five",
        "point five percent",
        "three and twenty",
        "nine out of ten",
        "five plus twenty",
        "five foot ten",
        "six feet two",
        "it costs five dollars and fifty",
    ],
)
def test_no_half_of_a_number_is_written(text):
    assert formatter("en").text(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "five to ten people",
        "at twenty to five",  # or 4:40
        "ten to five p m",
        "twenty first to twenty second",
        "one or two hundred",
        "two to three thousand people",
        "twenty to thirty thousand people",  # 20 or 20,000
        "five or six hundred dollars",
    ],
)
def test_of_a_range_that_is_not_sure_both_sides_stay(text):
    assert formatter("en").text(text) == text


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("five to ten dollars", "$5 to $10"),
        ("one to two percent", "1 to 2%"),
        ("between five and ten percent", "between 5 and 10%"),
        ("he paid five and ten percent", "he paid five and 10%"),
        ("five by ten feet", "5 by 10 feet"),
        ("two to three million", "2 to 3 million"),
        ("five to ten million dollars", "$5 to $10 million"),
        ("ten million to twenty million dollars", "$10 million to $20 million"),
        ("a hundred to two hundred dollars", "$100 to $200"),
        ("fifty to one hundred people", "50 to 100 people"),
        ("from five dollars in two thousand to ten dollars", "from $5 in 2000 to $10"),
        ("this one or ten dollars", "this one or $10"),
        ("from nine to five p m", "from 9 to 5 p.m."),
        ("three thirty to four p m", "3:30 to 4 p.m."),
    ],
)
def test_both_sides_of_a_range_are_written(said, written):
    assert formatter("en").text(said) == written


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("oh seven nine four six", "07946"),
        ("two thousand oh eight", "2008"),
        ("one oh five point five", "105.5"),
        ("two point five thousand dollars", "$2.5 thousand"),
        ("ten dollars oh five", "$10.05"),
        ("ten dollars and oh five cents", "$10.05"),
        ("at this point five dollars", "at this point $5"),
    ],
)
def test_an_oh_and_a_point_are_parts_of_a_number(said, written):
    assert formatter("en").text(said) == written
