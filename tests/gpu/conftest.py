"""Every test here needs a GPU: `make test-gpu`. TF32 is off, so that products are those of Float32."""

import pytest

from sonorant.models.devices import has_gpu, take_gpu
from sonorant.tensorflow import tf


@pytest.fixture(autouse=True, scope="session")
def gpu():
    take_gpu(0)
    if not has_gpu():
        pytest.skip("TensorFlow sees no GPU here")
    tf.config.experimental.enable_tensor_float_32_execution(False)
