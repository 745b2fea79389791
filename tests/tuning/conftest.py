import pytest
from rigs.tunable_run import write_tunable_run

from sonorant.export.loading import load_exported
from sonorant.recipe.loading import load_recipe
from sonorant.tuning import Spoken, Subject, write_outputs


@pytest.fixture(scope="package")
def tunable(tmp_path_factory):
    """A run with an export, dev as waveforms and texts, and their outputs as a subject of trials."""
    run, spoken = write_tunable_run(tmp_path_factory.mktemp("tunable"))
    export = run.exports / "babble" / "1"
    folder = run.tuning_outputs / "dev"
    utterances = [Spoken(text, "", lambda waveform=waveform: waveform) for waveform, text in spoken]
    write_outputs(folder, "dev of babble", load_exported(export), utterances, jitter_ms=0.0, threads=2)
    return run, spoken, Subject(export, folder, load_recipe(run.recipe).model_dump_json())
