"""What measures cost: `python tests/benchmarks/measures.py [--turns N]`.

A chain of seven driven links runs with ten measures and without, in turns, in one process; a line for each way of writing
frames says how much longer the runs with measures take: the median over the turns, and the quarters about it. Nothing else
should run on the machine.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np
import yaml

from simcli import pipeline
from simcli.cli import console

LINKS, WORLDS, STEP = 7, 512, 1e-3
DRIVE = {"mode": "position", "stiffness": 20, "damping": 1}
WRITES = {"no frames between start and end": (None, []), "states at each tenth step": (10, ["state"])}


def chain(steps: int, every: int, channels: list[str], measures: bool) -> dict:
    """The scene: angles, drives and places of the chain are measured, ten of them."""
    solid = {"mass": 1, "inertia": {"diag": [0.01, 0.1, 0.1]}}
    measured = {f"angle{k}": {"max_abs": f"joint.j{k}.q"} for k in range(5)}
    measured |= {f"effort{k}": {"rms": f"joint.j{k}.drive_effort"} for k in range(3)}
    measured |= {"lowest": {"min": "body.b6.position"}, "energy": {"integral": "joint.j0.drive_power"}}
    return {
        "simcli": 1,
        "bodies": {f"b{k}": {**solid, "pose": {"xyz": [k + 0.5, 0, 0]}} for k in range(LINKS)},
        "joints": {
            f"j{k}": {
                "type": "revolute",
                "parent": f"b{k - 1}" if k else "world",
                "child": f"b{k}",
                "at": [k, 0, 0],
                "axis": [0, 1, 0],
                "drive": DRIVE,
            }
            for k in range(LINKS)
        },
        "solver": {"dt": STEP, "integrator": "semi_implicit"},
        "run": {"duration": steps * STEP},
        "output": {"every": every * STEP, "channels": channels},
        "batch": {"worlds": WORLDS, "vary": {"joints.j0.q": {"uniform": [0, 1]}}},
        **({"measure": measured} if measures else {}),
    }


def job(folder: Path, scene: dict):
    """The scene, ready to run on one thread."""
    path = folder / f"{len(list(folder.iterdir()))}.yaml"
    path.write_text(yaml.safe_dump(scene))
    return pipeline.prepare(pipeline.Request(path, path.with_suffix(".h5"), (), "cpu", 1, force=True))


def main() -> None:
    """Print the lines."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--turns", type=int, default=40, help="runs of each (default: 40)")
    parser.add_argument("--steps", type=int, default=2000, help="of a run (default: 2000)")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, console.stdout_kept_clean():
        for words, (every, channels) in WRITES.items():
            scenes = [chain(args.steps, every or args.steps, channels, measures) for measures in (False, True)]
            pair = [job(Path(name), scene) for scene in scenes]
            for one in pair:  # compiles
                pipeline.execute(one)
            ratios = []
            for turn in range(args.turns):
                seconds = {k: pipeline.execute(pair[k]).stepping for k in ((0, 1) if turn % 2 else (1, 0))}
                ratios.append(seconds[1] / seconds[0])
            low, middle, high = (100 * (np.quantile(ratios, part) - 1) for part in (0.25, 0.5, 0.75))
            console.data(f"{words}: {middle:+.1f} % ({low:+.1f} to {high:+.1f} %)")


if __name__ == "__main__":
    main()
