import pytest
from hypothesis import given
from hypothesis import strategies as st
from num2words import num2words

from sonorant.text.figure_units import with_signs
from sonorant.text.formatting import formatter

UNITS = st.sampled_from(["dollars", "euros", "kilometers", "kilograms", "degrees celsius", "miles per hour", "percent"])


@pytest.mark.parametrize(
    ("language", "text", "signs"),
    [
        ("en", "(5 dollars), 5 kilometers per hour.", "($5), 5 km/h."),
        ("en", "\u22125 degrees, 5 people", "\u22125°, 5 people"),
        ("en", "on the 5, dollars", "on the 5, dollars"),
        ("en", "", ""),
        ("fr", "5 degrés, 2,5 kilomètres carrés", "5°, 2,5\u00a0km²"),
        ("ko", "5퍼센트는 10킬로미터 5명", "5%는 10km 5명"),
    ],
)
def test_units_after_figures_are_signs(language, text, signs):
    assert with_signs(text, language) == signs


@given(value=st.integers(2, 9999), unit=UNITS)
def test_signs_are_those_of_written_forms(value, unit):
    spoken = num2words(value).replace("-", " ").replace(",", "")
    assert formatter("en").text(f"{spoken} {unit}") == with_signs(f"{value} {unit}", "en")
