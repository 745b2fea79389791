"""What several rooms' tests share."""

import gc
import os
import resource
import signal
from pathlib import Path

import pytest
import structlog
from hypothesis import settings

settings.register_profile("without a deadline", deadline=None)  # no test asserts a time: machines are busy
settings.load_profile("without a deadline")

gc.set_threshold(100_000, 20, 50)  # graphs are many objects, to look for garbage among them takes its time

# A shell that runs the tests in the background has them ignore Ctrl-C, and so would every process they start.
signal.signal(signal.SIGINT, signal.default_int_handler)


def _configure(*args, configure=structlog.configure, **options):
    """A logger that keeps its first configuration would log past later tests, which capture what is logged."""
    configure(*args, **{**options, "cache_logger_on_first_use": False})


structlog.configure = _configure


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of real recordings; tests that need it are skipped where it is not."""
    folder = Path(os.environ.get("SONORANT_DATA") or Path(__file__).parents[2] / "shared" / "data")
    if not folder.is_dir():
        pytest.skip("no real recordings here; set SONORANT_DATA to the folder that holds them")
    return folder


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """What a recognizer serves: a first version of the model of `rigs.babble`; TensorFlow is loaded for it alone."""
    from rigs.babble import export_babble

    from sonorant.export.loading import load_exported
    from sonorant.serving.model_store import ModelStore

    exports = tmp_path_factory.mktemp("exports")
    export_babble(exports)
    store = ModelStore(exports, load_exported)
    store.refresh()
    return store


@pytest.fixture
def small_disk():
    """Make every file end at 4096 bytes: what a full disk refuses, this refuses, with another reason (EFBIG)."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
