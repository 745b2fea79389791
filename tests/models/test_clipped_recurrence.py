import numpy as np
from rigs.clipped_recurrence import by_definition, draw

from sonorant.models.clipped_recurrence import ClippedRecurrence
from sonorant.tensorflow import tf


def test_both_forms_are_the_recurrence_with_the_same_weights_and_the_same_in_padding():
    layer = ClippedRecurrence(5, ceiling=1.5, seed=1, name="recurrence")
    inputs, lengths, _ = draw(3, [6, 4, 0], 6, 5)
    by_graph = layer(inputs, lengths)
    layer.compiled = True
    by_kernel = layer(inputs, lengths)
    np.testing.assert_allclose(by_kernel, by_graph, atol=1e-5)
    expected = by_definition(inputs, lengths, layer.weight.value, 1.5)
    for ours, theirs, length in zip(by_kernel, expected, lengths, strict=True):
        np.testing.assert_allclose(ours[:length], theirs[:length], atol=1e-5)


def test_an_exported_graph_needs_no_kernel():
    layer = ClippedRecurrence(4, ceiling=20.0, seed=1, name="recurrence")
    signature = [tf.TensorSpec([None, None, 4]), tf.TensorSpec([None], tf.int32)]
    graph = tf.function(layer.call).get_concrete_function(*signature).graph
    assert not {op.type for op in graph.get_operations()} & {"PyFunc", "PyFuncStateless"}


def test_directions_have_weights_of_their_own_that_begin_orthogonal():
    weight = np.asarray(ClippedRecurrence(8, 20.0, seed=3, name="recurrence").weight)
    for one in weight:
        np.testing.assert_allclose(one @ one.T, np.eye(8), atol=1e-5)
    assert np.abs(weight[0] - weight[1]).max() > 0.1
