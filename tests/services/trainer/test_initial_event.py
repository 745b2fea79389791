import pytest
from structlog.testing import capture_logs

from services.trainer.initial_event import log_initial
from sonorant.training.initial_weights import InitialWeights


@pytest.mark.parametrize(("expected", "level"), [(1, "info"), (3, "warning")])
def test_weights_that_stay_random_are_a_warning(expected, level):
    with capture_logs() as events:
        log_initial(InitialWeights("there", {"a": None}, expected, ("b: none",)))
    told = {"source": "there", "loaded": 1, "of": expected, "unmatched": ("b: none",)}
    assert events == [told | {"event": "weights_initialised", "log_level": level}]
