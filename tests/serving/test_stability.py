import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonorant.serving.stability import Stability

PROBABILITIES = st.floats(0, 1)
CURVES = st.builds(Stability, st.floats(0, 1e300), st.floats(-1e300, 1e300))


@given(PROBABILITIES)
def test_without_measurement_it_is_the_posterior(posterior):
    assert Stability().of(posterior) == posterior


@given(CURVES, PROBABILITIES, PROBABILITIES)
def test_it_is_a_probability_and_never_falls_with_the_posterior(curve, one, other):
    low, high = sorted((one, other))
    assert 0 <= curve.of(low) <= curve.of(high) <= 1


def test_it_is_the_curve_of_its_formula():
    odds = (0.8 / 0.2) ** 0.5 * math.exp(1.5)
    assert Stability(0.5, 1.5).of(0.8) == pytest.approx(odds / (1 + odds))


@given(CURVES)
def test_a_file_holds_it(curve):
    assert Stability.from_json(curve.to_json()) == curve


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "Expecting value"),
        ("[1, 2]", "no curve"),
        ('{"slope": 1}', "no curve"),
        ('{"slope": 1, "offset": "2"}', "offset: found '2'"),
        ('{"slope": true, "offset": 2}', "slope: found True"),
        ('{"slope": NaN, "offset": 2}', "slope: found nan"),
        ('{"slope": 1, "offset": 1e999}', "offset: found inf"),
        ('{"slope": -1, "offset": 0}', "slope: found -1"),
    ],
)
def test_what_is_no_curve_is_refused_by_name(text, reason):
    with pytest.raises(ValueError, match=reason):
        Stability.from_json(text)
