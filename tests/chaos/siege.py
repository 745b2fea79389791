"""`sonorant train` under blows from outside, for as many trainings as fit the time."""

import math

from chaos.bout import Bout
from chaos.corpus import write_run
from chaos.disk import can_mount
from chaos.faults import AT_THE_END, FAULTS, NEED_DISK, SLOW, deal
from chaos.ground import Ground
from chaos.variants import EPOCHS

from sonorant.recipe.layout import stage_order
from sonorant.recipe.loading import load_recipe

__all__ = ["Siege"]

_BOUT_S = 180.0
_SLOW_FROM_S = 120.0  # shorter ones are too short for hangs
_EXAMPLES_PER_S = 14.0


class Siege:
    """folder: where to train; only: kinds of blows to deal, all if empty; bound_s: longest standstill that is allowed;
    keep: leave copies of all runs; say: gets a line an event."""

    def __init__(self, folder, seed, duration_s, every_s, only, bound_s, keep, say):
        self._keep = keep
        self._bound_s = bound_s
        self._folder, self._duration_s, self._every_s, self._say = folder, duration_s, every_s, say
        self._bouts = max(1, math.ceil(duration_s / _BOUT_S))
        self._bout_s = duration_s / self._bouts
        self.examples = max(40, round(self._bout_s * _EXAMPLES_PER_S / EPOCHS))
        self._on_disks = can_mount(folder)
        stages = stage_order(load_recipe(write_run(folder / "undisturbed", self.examples).recipe))
        self._blows = deal(seed, stages, self._drawn(FAULTS + SLOW, only))
        self._lasts = deal(seed, stages, self._drawn(AT_THE_END, {fault.kind for fault in AT_THE_END} & set(only)))

    def _drawn(self, faults, only):
        """Return the faults that can be injected here; report the others."""
        left_out = {}
        for fault in faults:
            if only and fault.kind not in only:
                left_out[fault] = ""
            elif fault.noun in NEED_DISK and not self._on_disks:
                left_out[fault] = "mounting a disk is not permitted here"
            elif fault in SLOW and not only and self._duration_s < _SLOW_FROM_S:
                left_out[fault] = f"takes too long for less than {_SLOW_FROM_S:g} s"
        for fault, why in left_out.items():
            if why:
                self._say(f"left out: {fault.kind}: {why}")
        return [fault for fault in faults if fault not in left_out]

    async def fight(self, expected):
        """Train as often as there is time for; return what to report."""
        outcomes = []
        for number in range(self._bouts):
            ground = Ground(
                self._folder / f"bout-{number}",
                lambda path: write_run(path, self.examples),
                _EXAMPLES_PER_S,
                self._bound_s,
                self._on_disks,
            )
            bout = Bout(
                ground, self._blows, next(self._lasts), self._bout_s, self._every_s, self._bound_s, expected, self._say
            )
            outcome = None
            try:
                outcome = await bout.fight()
            finally:
                good = outcome is not None and outcome["exact"] and not outcome["wrongs"]
                await ground.close(keep=self._keep or not good)
            outcomes.append(outcome)
            self._report(number, outcome)
        return self._summed(outcomes)

    def _report(self, number, outcome):
        self._say(
            f"training {number + 1} of {self._bouts}: {'exact' if outcome['exact'] else 'NOT EXACT'}, "
            f"{outcome['command_starts']} starts, longest standstill {outcome['standstill_s']} s "
            f"(after {outcome['standstill_after']}){''.join(f'; {wrong}' for wrong in outcome['wrongs'])}"
        )
        for end in outcome["command_ends"]:
            if end["reason"] not in ("killed", "interrupted"):
                self._say(f"  ended with {end['code']} ({end['reason']}):\n{end['said']}")

    def _summed(self, outcomes):
        worst = max(outcomes, key=lambda outcome: outcome["standstill_s"])
        return {
            "examples": self.examples,
            "exact": all(outcome["exact"] and not outcome["wrongs"] for outcome in outcomes),
            "wrongs": [wrong for outcome in outcomes for wrong in outcome["wrongs"]],
            "standstill_s": worst["standstill_s"],
            "standstill_after": worst["standstill_after"],
            "command_starts": sum(outcome["command_starts"] for outcome in outcomes),
            "command_ends": [end for outcome in outcomes for end in outcome["command_ends"]],
            "verdict": [verdict for outcome in outcomes for verdict in outcome["verdict"]],
            "blows": [blow for outcome in outcomes for blow in outcome["blows"]],
            "arrivals": [t for outcome in outcomes for t in outcome["arrivals"]],
        }
