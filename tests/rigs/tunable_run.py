"""A run whose dev set is transcribed by its own model with certain weights, which a tuning should find again."""

from functools import partial

from rigs.babble import RATE_HZ, UNITS, babble_model, babble_recipe, murmur
from rigs.whole_recording import within_quiet

from sonorant.audio.pcm import from_int16, to_int16
from sonorant.corpus.record import Record, encode_audio
from sonorant.corpus.shards import shard_name, write_shard
from sonorant.decoding import load_scorer, open_search
from sonorant.export.loading import load_exported
from sonorant.export.neural_language_model import load_language_model
from sonorant.export.saved_model import export_model
from sonorant.lm.training import train
from sonorant.recipe import Recipe
from sonorant.recipe.loading import dump_recipe
from sonorant.run_folder import RunFolder
from sonorant.serving.posteriors import open_posteriors, whole_posteriors
from sonorant.tuning.weights import with_weights

TRUE = {"lm.alpha": 1.5, "lm.beta": 2.0}  # the recipe has 0 and 0
UTTERANCES = 10


def write_tunable_run(folder, utterances=UTTERANCES):
    """Write the run, with an export and dev; return its folder and the utterances, each a waveform and its text."""
    run = RunFolder(folder / "run")
    run.shards.mkdir(parents=True)
    (folder / "text.txt").write_text("alpha beta\nbeta gamma beta\ngamma delta alpha beta\nalpha alpha delta\n" * 3)
    train([folder / "text.txt"], folder / "lm.arpa", order=2)
    values = babble_recipe().model_dump(mode="json")
    values["decoding"]["lm"] = {"path": str(folder / "lm.arpa"), "alpha": 0.0, "beta": 0.0}
    recipe = Recipe.model_validate(values)
    exported = load_exported(export_model(babble_model(recipe, seed=2, blank=4), recipe, UNITS, run.exports).path)
    spoken = [spoken_by(exported, seed) for seed in range(utterances)]
    run.recipe.write_text(dump_recipe(recipe))
    (run.shards / "card.json").write_text("{}")
    records = [partial(record, number)(*one) for number, one in enumerate(spoken)]
    write_shard(run.shards / shard_name("dev", 0, 1), records)
    return run, spoken


def spoken_by(model, seed):
    waveform = from_int16(to_int16(murmur(1.5, seed)))
    frames = whole_posteriors(open_posteriors(model, jitter_ms=0.0), within_quiet(waveform, model.sample_rate_hz))
    recipe = with_weights(model.recipe, TRUE)
    scorer = load_scorer(UNITS, recipe.decoding, recipe.text, model.folder, load_language_model)
    search = open_search("ctc", UNITS, model.frame_seconds, recipe.decoding, None, scorer)
    search.push(frames)
    search.finish()
    return waveform, search.hypotheses()[0].text


def record(number, waveform, text):
    return Record(
        utterance=f"u{number}",
        speaker=f"s{number % 3}",
        text=text,
        sample_rate_hz=RATE_HZ,
        duration_s=len(waveform) / RATE_HZ,
        encoding="pcm16",
        audio=encode_audio(waveform, RATE_HZ, "pcm16"),
        words=(),
    )
