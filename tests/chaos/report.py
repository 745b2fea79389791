"""Report of a chaos run: its figures as JSON, and a plot of the gaps after each kind of fault."""

import json
from collections import defaultdict

import matplotlib as mpl

mpl.use("Agg")
from matplotlib import pyplot as plt

__all__ = ["write_report"]


def write_report(folder, outcome):
    """Write chaos.json and recovery.png below `folder`."""
    gaps = defaultdict(list)
    for injection in outcome["injections"]:
        gaps[injection["kind"]].append(injection["gap_s"])
    arrivals = outcome.pop("arrivals")
    outcome["gap_s"] = {
        kind: {"n": len(g), "median": sorted(g)[len(g) // 2], "max": max(g)} for kind, g in sorted(gaps.items())
    }
    (folder / "chaos.json").write_text(json.dumps(outcome, indent=2) + "\n")
    figure, (above, below) = plt.subplots(2, 1, figsize=(10, 8))
    kinds = sorted(gaps)
    above.boxplot([gaps[kind] for kind in kinds], vert=False)
    above.set_yticks(range(1, len(kinds) + 1), kinds)
    above.set_xlabel("longest pause of arrivals that began between a fault and the next one, s")
    if arrivals:
        begun = arrivals[0]
        below.hist([t - begun for t in arrivals], bins=max(10, int(arrivals[-1] - begun)))
        for injection in outcome["injections"]:
            below.axvline(injection["injected_s"] - begun, color="red", alpha=0.3, linewidth=0.8)
    below.set_xlabel("time, s")
    below.set_ylabel("arrivals a second (red: faults)")
    figure.tight_layout()
    figure.savefig(folder / "recovery.png", dpi=100)
    plt.close(figure)
