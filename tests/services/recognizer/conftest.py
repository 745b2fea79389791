import pytest
from rigs.babble import export_babble

from sonorant.export.loading import load_exported
from sonorant.serving.model_store import ModelStore


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    exports = tmp_path_factory.mktemp("exports")
    export_babble(exports)
    store = ModelStore(exports, load_exported)
    store.refresh()
    return store
