import pytest

from sonorant.text.formatting import formatter


def written(text):
    """The written form, its spaces that do not break as ~ and _."""
    return formatter("fr").text(text).replace("\u00a0", "~").replace("\u202f", "_")


@pytest.mark.parametrize(
    "text",
    [
        "un homme et une femme",
        "un deux trois soleil",
        "une heure plus tard",
        "la deuxième fois",
        "le premier pas",
        "mille mercis",
        "les uns pour les autres",
        "vingt trente personnes",
        "louis quatorze",
        "henri quatre",
        "il marche en mars",
        "pour cent raisons",
        "midi",
    ],
)
def test_what_has_several_readings_stays_as_it_was_said(text):
    assert written(text) == text


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("vingt et un", "21"),
        ("soixante et onze", "71"),
        ("quatre-vingt-dix-sept", "97"),
        ("nonante neuf", "99"),
        ("dix neuf cent quatre vingt", "1980"),
        ("douze mille cinq cents", "12_500"),
        ("deux millions de personnes", "2~millions de personnes"),
        ("deux virgule cinq millions", "2,5~millions"),
        ("trois virgule zéro cinq", "3,05"),
        ("trois virgule quatorze", "3,14"),
        ("cent personnes", "100 personnes"),
        ("vingt et unième", "21e"),
        ("le vingtième siècle", "le XXe siècle"),
        ("zéro six douze trente quatre cinquante six soixante dix huit", "06~12~34~56~78"),
    ],
)
def test_numbers_are_figures(said, expected):
    assert written(said) == expected


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("le cinq mars deux mille vingt cinq", "le 5 mars 2025"),
        ("le premier mai", "le 1er mai"),
        ("le quinze aout", "le 15 août"),
        ("en mars mille neuf cent quatre vingt quatre", "en mars 1984"),
        ("quinze heures trente", "15~h~30"),
        ("à quinze heures", "à 15~h"),
        ("à une heure", "à 1~h"),
        ("huit heures et demie", "8~h~30"),
        ("huit heures dix euros", "huit heures 10~€"),
        ("deux heures vingt kilos", "deux heures 20~kg"),
        ("huit heures moins le quart", "7~h~45"),
        ("une heure moins dix", "0~h~50"),
        ("midi et demi", "12~h~30"),
        ("deux heures dix minutes", "2~h~10"),
        ("trente cinq heures", "35 heures"),
    ],
)
def test_dates_and_times(said, expected):
    assert written(said) == expected


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("cinq euros", "5~€"),
        ("cinq euros cinquante", "5,50~€"),
        ("cinq euros et vingt centimes", "5,20~€"),
        ("cinquante centimes", "50~centimes"),
        ("vingt livres", "20 livres"),
        ("cinq pour cent", "5~%"),
        ("cent trente kilomètres heure", "130~km/h"),
        ("cent trente kilomètres à l'heure", "130~km/h"),
        ("vingt degrés", "20°"),
        ("quarante mètres carrés", "40~m²"),
    ],
)
def test_money_and_units(said, expected):
    assert written(said) == expected


def test_words_without_accents_are_read_too():
    assert written("trois virgule zero cinq") == written("trois virgule zéro cinq")


def test_of_a_number_that_has_several_readings_nothing_is_written():
    assert written("vingt et un cent") == "vingt et un cent"


def test_a_number_is_read_without_its_neighbours():
    assert written("j'en ai une à dix heures") == "j'en ai une à 10~h"
    assert written("à cinq heures mille deux cents personnes") == "à cinq heures 1200 personnes"


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("cinq dollars et dix cents", "5,10~$"),
        ("cinq euros vingt cents pour moi", "5,20~€ pour moi"),
        ("cinq dollars et cinq cents", "5,05~$"),
        ("cinq dollars et deux cents personnes", "cinq dollars et deux cents personnes"),  # or 5,02 $
        ("cinq dollars et cent personnes", "5~$ et 100 personnes"),
        ("douze cents personnes", "1200 personnes"),
    ],
)
def test_cents_of_a_dollar_are_no_hundreds(said, expected):
    assert written(said) == expected


@pytest.mark.parametrize(
    "text",
    [
        "cinquante ou soixante mille",
        "cinquante ou soixante ou soixante dix mille",
        "deux ou trois cents personnes",
        "deux ou trois mille euros",
        "entre deux et trois cents",
        "cent ou deux cent mille",
    ],
)
def test_a_scale_that_two_numbers_may_share_is_not_given_to_one(text):
    assert written(text) == text


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("entre cinq et dix euros", "entre 5 et 10~€"),
        ("de cinq à dix pour cent", "de 5 à 10~%"),
        ("deux virgule cinq à trois pour cent", "2,5 à 3~%"),
        ("deux à trois millions de personnes", "2 à 3~millions de personnes"),
        ("vingt à trente personnes", "20 à 30 personnes"),
        ("cinq ou dix personnes", "5 ou 10 personnes"),
        ("deux ou trois heures moins dix", "deux ou trois heures moins dix"),
        ("deux ou trois personnes", "deux ou trois personnes"),
        ("un à dix", "un à dix"),
        ("de un à dix", "de 1 à 10"),
        ("de neuf à dix sept heures", "de 9 à 17~h"),
        ("du cinq au dix mai", "du 5 au 10 mai"),
        ("du premier au cinq mai deux mille vingt cinq", "du 1er au 5 mai 2025"),
        ("entre le cinq et le dix mai", "entre le 5 et le 10 mai"),
        ("j'en veux une à dix euros", "j'en veux une à 10~€"),
        ("de un à cinq euros", "de 1 à 5~€"),
    ],
)
def test_of_two_numbers_that_share_what_they_count_both_are_written_or_none(said, expected):
    assert written(said) == expected


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("dix sept heures zéro cinq", "17~h~05"),
        ("quinze heures zéro zéro", "15~h~00"),
        ("dix heures zéro virgule cinq", "10 heures 0,5"),
        ("quinze heures zéro cinq minutes", "15 heures zéro cinq minutes"),
    ],
)
def test_minutes_below_ten_are_said_with_a_zero(said, expected):
    assert written(said) == expected


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("code postal soixante neuf zéro zéro trois", "code postal 69003"),
        ("le code postal est le soixante quinze mille un", "le code postal est le 75001"),
        ("code postal zéro six mille", "code postal 06000"),
        ("code postal sept cinq zéro zéro un", "code postal 75001"),
    ],
)
def test_postal_codes_have_five_digits_without_a_space(said, expected):
    assert written(said) == expected
