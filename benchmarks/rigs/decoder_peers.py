"""Decodes with pyctcdecode or flashlight-text: a program for a Python that has them, and nothing of sonorant.

`python decoder_peers.py FOLDER`: the folder has units.json, words.json, lm.arpa and utterances.npz. A line on standard
input, {"peer", "beam", "lm", "candidates", "alpha", "beta"}, is answered by {"seconds", "texts"} (CPU time of the
decoding alone), or {"missing"} with the reason.
"""

import json
import math
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

WORD_START = "\u2581"


class Pyctcdecode:
    """pyctcdecode with the words of the language model as unigrams."""

    def __init__(self, folder: Path, task: dict[str, Any]) -> None:
        import logging

        from pyctcdecode import build_ctcdecoder

        logging.disable(logging.WARNING)
        units = json.loads((folder / "units.json").read_text())
        lm = dict(kenlm_model_path=str(folder / "lm.arpa"), unigrams=json.loads((folder / "words.json").read_text()))
        weights = dict(alpha=task["alpha"], beta=task["beta"], unk_score_offset=task["alpha"] * task["unknown"])
        self.decoder = build_ctcdecoder([*units, ""], **(lm if task["lm"] else {}), **weights)
        self.beam = task["beam"]

    def decode(self, log_probs: Any) -> str:
        """Return the best text of Float32[frames, units + 1]."""
        text: str = self.decoder.decode(log_probs, beam_width=self.beam)
        return text


class Flashlight:
    """flashlight-text's decoder: over a lexicon of the language model's words, or without lexicon and model."""

    def __init__(self, folder: Path, task: dict[str, Any]) -> None:
        from flashlight.lib.text import decoder, dictionary

        self.units = json.loads((folder / "units.json").read_text())
        options = dict(
            beam_size=task["beam"], beam_size_token=task["candidates"], beam_threshold=100.0, lm_weight=task["alpha"],
            sil_score=0.0, log_add=True, criterion_type=decoder.CriterionType.CTC,
        )  # fmt: skip
        blank = len(self.units)
        if not task["lm"]:
            options["lm_weight"] = 0.0
            settings = decoder.LexiconFreeDecoderOptions(**options)
            self.decoder = decoder.LexiconFreeDecoder(settings, decoder.ZeroLM(), -1, blank, [])
            return
        from flashlight.lib.text.decoder.kenlm import KenLM

        options["lm_weight"] = task["alpha"] * math.log(10)  # its scores are decimal logarithms
        words = json.loads((folder / "words.json").read_text())
        number = {unit: i for i, unit in enumerate(self.units)}
        known = dictionary.create_word_dict({word: [[]] for word in [*words, "<unk>"]})
        lm = KenLM(str(folder / "lm.arpa"), known)
        trie = decoder.Trie(blank + 2, blank + 1)
        start = lm.start(False)
        for word in words:
            index = known.get_index(word)
            pieces = [WORD_START + word[:3], *(word[at : at + 3] for at in range(3, len(word), 3))]
            trie.insert([number[piece] for piece in pieces], index, lm.score(start, index)[1])
        trie.smear(decoder.SmearingMode.MAX)
        settings = decoder.LexiconDecoderOptions(word_score=task["beta"], unk_score=float("-inf"), **options)
        self.decoder = decoder.LexiconDecoder(settings, trie, lm, blank + 1, blank, known.get_index("<unk>"), [], False)

    def decode(self, log_probs: Any) -> str:
        """Return the best text of Float32[frames, units + 1]; to the decoder goes a silence as well, impossible."""
        log_probs = np.pad(log_probs, ((0, 0), (0, 1)), constant_values=-1000)
        best = self.decoder.decode(log_probs.ctypes.data, *log_probs.shape)[0]
        units, last = [], None
        for token in best.tokens:
            if token != last and 0 <= token < len(self.units):
                units.append(self.units[token])
            last = token
        return "".join(units).replace(WORD_START, " ").strip()


def main() -> None:
    """Answer until the input ends."""
    folder = Path(sys.argv[1])
    with np.load(folder / "utterances.npz") as arrays:
        utterances = [arrays[name] for name in sorted(arrays.files)]
    made: dict[str, Pyctcdecode | Flashlight] = {}
    for line in sys.stdin:
        key = line.strip()
        try:
            if key not in made:
                task = json.loads(key)
                peer = Pyctcdecode if task["peer"] == "pyctcdecode" else Flashlight
                made[key] = peer(folder, task)
                made[key].decode(utterances[0])
        except ImportError as error:
            print(json.dumps({"missing": str(error)}), flush=True)
            continue
        start = time.process_time()
        texts = [made[key].decode(log_probs) for log_probs in utterances]
        seconds = time.process_time() - start
        print(json.dumps({"seconds": seconds, "texts": texts}), flush=True)


if __name__ == "__main__":
    main()
