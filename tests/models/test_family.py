import pytest

from sonorant.models.family import Model, Symbols
from sonorant.tensorflow import keras


def test_two_layers_of_one_name_are_a_fault_of_the_family():
    """Else a checkpoint would keep the weights of one of them, and restore both from these."""
    model = Model("tiny", bins=3, symbols=Symbols(2, blank=2))
    model.lower, model.upper = (keras.layers.Dense(3, name="dense") for _ in range(2))
    for layer in (model.lower, model.upper):
        layer.build((None, 3))
    for weights in (model.weight_shapes, model.named_weights):
        with pytest.raises(AssertionError, match="two layers have the same name"):
            weights()
