import numpy as np
import pytest

from benchmarks.rigs.fixed_step import FixedStep
from benchmarks.rigs.products import Product, multiplier, products_of
from benchmarks.rigs.training_case import CASES

SECONDS = [1.0, 0.8, 0.9]
NO_PRODUCT = ("embedding", "feedback", "peepholes")  # looked up, or multiplied element by element


def trained_matrices(step):
    """Return the shapes of all trained matrices, a convolution's as that of the product that it is."""
    shapes = []
    for variable in step.step.model.trainable_variables:
        shape = tuple(variable.shape)
        if len(shape) > 1 and not variable.path.endswith(NO_PRODUCT):
            shapes.append(shape if "recurrence" in variable.path else (int(np.prod(shape[:-1])), shape[-1]))
    return sorted(shapes, key=str)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_each_trained_matrix_has_the_product_of_its_gradient(case):
    step = FixedStep(case, SECONDS)
    found = []
    for product in products_of(step):
        shape = (product.m, product.n) if product.parallel == 1 else (product.parallel, product.m, product.n)
        if product.left and product.parallel != len(SECONDS):  # contexts have a product for each utterance
            found.append(shape)
    assert sorted(found, key=str) == trained_matrices(step)


def test_products_are_those_of_the_shapes_that_they_name():
    products = [Product(3, 2, 4, 5), Product(1, 2, 4, 5, left=True), Product(2, 3, 4, 5, parallel=6, right=True)]
    shapes = [tuple(result.shape) for result in multiplier(products)()]
    assert shapes == [(2, 5)] * 3 + [(2, 5)] + [(6, 3, 5)] * 2
    assert sum(product.flops for product in products) == 2 * (3 * 40 + 40 + 2 * 360)


def test_a_fixed_step_has_what_training_has():
    step = FixedStep(CASES[0], SECONDS)
    assert step.batch.tensors.features.shape[0] == len(SECONDS)
    assert step.batch.audio_s == sum(SECONDS)
    assert [int(n) for n in step.batch.tensors.targets["labels"].lengths] == [2, 2, 2]
    assert (np.asarray(step.batch.tensors.targets["frames"].values) >= -1).all()
