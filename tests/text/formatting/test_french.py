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
