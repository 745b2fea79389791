from collections import Counter

import pytest
from rigs.tiny_bfa import tiny_bfa

from sonorant.models.decoder_functions import decoder_functions
from sonorant.models.tensor_decoder import TensorDecoder
from sonorant.tensorflow import of_arrays


@pytest.mark.parametrize("ctc", [False, True])
def test_warming_up_calls_each_function_once(ctc):
    model, called = tiny_bfa(ctc=ctc), Counter()

    def counted(name, function):
        return lambda **given: (called.update([name]), of_arrays(function)(**given))[1]

    functions = {name: counted(name, function) for name, function in decoder_functions(model).items()}
    TensorDecoder(functions).warm(model.encoded_size)
    assert called == dict.fromkeys(functions, 1)
    assert len(functions) == (3 if ctc else 2)
