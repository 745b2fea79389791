import numpy as np

from benchmarks import gpu
from sonorant.objectives.ctc import ctc_loss
from sonorant.tensorflow import tf


def test_the_peer_of_ctc_has_the_same_losses():
    rng = np.random.default_rng(3)
    log_probs = tf.nn.log_softmax(tf.constant(rng.normal(size=(20, 30, 8)), tf.float32))
    labels, counts = rng.integers(0, 7, (20, 5)).astype(np.int32), rng.integers(1, 6, 20).astype(np.int32)
    given = log_probs, np.full(20, 30, np.int32), labels, counts
    np.testing.assert_allclose(gpu._dense_ctc_loss(*given), ctc_loss(*given), rtol=1e-5)
