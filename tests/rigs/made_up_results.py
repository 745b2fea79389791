"""A list of systems on made-up recipes, and reports of runs that nobody made."""

import json

import yaml

SETS = ("clean", "noisy")


def write_list(folder, systems, corpus=None, **recipes):
    """Write a list with one corpus, and a recipe `NAME.yaml` of each keyword's values beside it; return its path."""
    for name, values in recipes.items():
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(values))
    path = folder / "systems.yaml"
    path.write_text(
        yaml.safe_dump({"corpora": [{"name": "tones", "about": "Tones.", "systems": systems} | (corpus or {})]})
    )
    return path


def system(folder, name, recipe="a", **values):
    return {"name": name, "recipe": str(folder / f"{recipe}.yaml"), **values}


def report(wer=0.25, **values):
    """Return a `report.json`; wer: of each test set."""
    rates = dict.fromkeys(SETS, wer)
    errors = {"interval_95": [wer / 2, 2 * wer], "cer": wer / 4, "cer_interval_95": [wer / 8, wer], "words": 80}
    return {
        "subject": "made-up",
        "wer": rates,
        "errors": dict.fromkeys(SETS, errors),
        "train_seconds": 90.0,
        "t_session": 0.875,
        "stopped_because": "epochs",
        "steps": 1234,
        "epochs": 3,
        "audio_hours": 1.5,
        "audio_hours_per_second": 0.0123456789,
        "parameters": 1000,
        "system": {"family": "lstm_ctc", "streaming": True, "stages": ["vtlp"], "lm": False, "mwer": False},
        "ledger": {"committed": 20},
        "corpus": {"source": "tones", "path": "/somewhere"},
        **values,
    }


def write_report(folder, **values):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "report.json").write_text(json.dumps(report(**values)))
    return folder / "report.json"
