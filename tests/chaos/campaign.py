"""A campaign of fault injection: as many trainings by `sonorant train` as fit the time."""

import math

from chaos.command_run import CommandRun
from chaos.corpus import write_run
from chaos.disk import can_mount
from chaos.faults import AT_THE_END, FAULTS, NEED_DISK, SLOW, draw
from chaos.testbed import Testbed
from chaos.variants import EPOCHS

from sonorant.recipe.layout import stage_order
from sonorant.recipe.loading import load_recipe

__all__ = ["Campaign"]

_TRAINING_S = 180.0
_SLOW_FROM_S = 120.0  # shorter ones are too short for hangs
_EXAMPLES_PER_S = 14.0


class Campaign:
    """Trainings by `sonorant train` under fault injection, for as long as it may take.

    folder: where to train; only: kinds of faults to draw, all if empty; bound_s: longest standstill that is allowed;
    keep: leave copies of all runs; echo: gets a line an event.
    """

    def __init__(self, folder, seed, duration_s, every_s, only, bound_s, keep, echo):
        self._keep = keep
        self._bound_s = bound_s
        self._folder, self._duration_s, self._every_s, self._echo = folder, duration_s, every_s, echo
        self._trainings = max(1, math.ceil(duration_s / _TRAINING_S))
        self._training_s = duration_s / self._trainings
        self.examples = max(40, round(self._training_s * _EXAMPLES_PER_S / EPOCHS))
        self._on_disks = can_mount(folder)
        stages = stage_order(load_recipe(write_run(folder / "undisturbed", self.examples).recipe))
        self._injections = draw(seed, stages, self._drawn(FAULTS + SLOW, only))
        self._finals = draw(seed, stages, self._drawn(AT_THE_END, {fault.kind for fault in AT_THE_END} & set(only)))

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
                self._echo(f"left out: {fault.kind}: {why}")
        return [fault for fault in faults if fault not in left_out]

    async def run(self, expected):
        """Train as often as there is time for; return what to report."""
        outcomes = []
        for number in range(self._trainings):
            testbed = Testbed(
                self._folder / f"training-{number}",
                lambda path: write_run(path, self.examples),
                _EXAMPLES_PER_S,
                self._bound_s,
                self._on_disks,
            )
            faults = (self._injections, next(self._finals), self._training_s, self._every_s)
            training = CommandRun(testbed, *faults, self._bound_s, expected, self._echo)
            outcome = None
            try:
                outcome = await training.run()
            finally:
                good = outcome is not None and outcome["exact"] and not outcome["violations"]
                await testbed.close(keep=self._keep or not good)
            outcomes.append(outcome)
            self._report(number, outcome)
        return self._summed(outcomes)

    def _report(self, number, outcome):
        self._echo(
            f"training {number + 1} of {self._trainings}: {'exact' if outcome['exact'] else 'NOT EXACT'}, "
            f"{outcome['command_starts']} starts, longest standstill {outcome['standstill_s']} s "
            f"(after {outcome['standstill_after']}){''.join(f'; {violation}' for violation in outcome['violations'])}"
        )
        for end in outcome["command_ends"]:
            if end["reason"] not in ("killed", "interrupted"):
                self._echo(f"  ended with {end['code']} ({end['reason']}):\n{end['output']}")

    def _summed(self, outcomes):
        worst = max(outcomes, key=lambda outcome: outcome["standstill_s"])
        return {
            "examples": self.examples,
            "exact": all(outcome["exact"] and not outcome["violations"] for outcome in outcomes),
            "violations": [violation for outcome in outcomes for violation in outcome["violations"]],
            "standstill_s": worst["standstill_s"],
            "standstill_after": worst["standstill_after"],
            "command_starts": sum(outcome["command_starts"] for outcome in outcomes),
            "command_ends": [end for outcome in outcomes for end in outcome["command_ends"]],
            "verdict": [verdict for outcome in outcomes for verdict in outcome["verdict"]],
            "injections": [injection for outcome in outcomes for injection in outcome["injections"]],
            "arrivals": [t for outcome in outcomes for t in outcome["arrivals"]],
        }
