"""What the tests of `sonorant transcribe` share: a recognizer, and what its model hears."""

import pytest

from services.recognizer.process import running_recognizer
from services.recognizer_client.client import pcm16
from sonorant.export.loading import load_exported
from sonorant.run_folder import RunFolder
from sonorant.serving.session import Session, SessionOptions


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run with an exported model; TensorFlow is loaded for it alone."""
    from rigs.babble import export_babble

    folder = RunFolder(tmp_path_factory.mktemp("run"))
    export_babble(folder.exports)
    folder.recipe.touch()
    return folder


@pytest.fixture(scope="module")
def server(run):
    """The address of its recognizer."""
    with running_recognizer(run.exports) as address:
        yield address


@pytest.fixture(scope="module")
def heard(run):
    """What the exported model hears, without any server."""
    model = load_exported(run.exports / "babble/1")

    def heard(samples):
        session = Session(model, SessionOptions())
        session.push(pcm16(samples))
        return session.finish()[-1].alternatives[0].text

    return heard
