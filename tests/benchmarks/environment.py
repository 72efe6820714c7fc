"""What the environment of the manual costs beside a run: `python tests/benchmarks/environment.py [--turns N]`.

The carts of page `python` are stepped as an environment with random actions, and worlds that end begin anew; the same scene
runs without frames. Both go on in turns, in one process; a line for each number of worlds gives the world-steps of the
environment over those of the run in the same time: of the processor, which other work on the machine disturbs little, and
what follows from it on as many cores as `--cores` says, which share the kernels, while Python's lines keep one busy.
"""

import argparse
import os
import re
import tempfile
import time
from importlib.resources import files
from pathlib import Path

import numpy as np

import simcli
from simcli import pipeline
from simcli.cli import console

FRAMES = ("output.channels=[]",)
RUNS = (700, 1700)  # steps of two runs, of which the longer one takes more by those between; kernels are compiled alike
CALLS = 100  # of the environment in a turn
SETTLED = 60  # calls after which worlds end at any time


def programs(folder: Path) -> dict:
    """What the last program of the page defines; its scene is in the folder."""
    page = files("simcli").joinpath("docs", "python.md").read_text(encoding="utf-8")
    scene, *_, program = re.findall(r"```(?:yaml|python)\n(.*?)```", page, re.DOTALL)
    (folder / "cartpole.yaml").write_text(scene)
    found = {"np": np, "simcli": simcli}
    exec(compile(program, "python.md", "exec"), found)
    return found


class Clock:
    """Time of the processor [s]: of the thread of Python, and of all threads."""

    def __init__(self):
        self._start = self._now()

    @staticmethod
    def _now() -> np.ndarray:
        return np.array([time.thread_time(), time.process_time()])

    @property
    def passed(self) -> np.ndarray:
        """(2,), since the clock was made."""
        return self._now() - self._start


def on_cores(seconds: np.ndarray, cores: int) -> float:
    """[s] by the wall, of what takes so long of the processor, (2,) as of `Clock`."""
    return seconds[0] + (seconds[1] - seconds[0]) / cores


class Runs:
    """Runs of the scene without frames.

    Args:
        scene: file.
        worlds: of each.
    """

    def __init__(self, scene: Path, worlds: int):
        own = (*FRAMES, f"batch.worlds={worlds}")
        dt = pipeline.read_scene(scene, own)[1].solver.dt
        self._jobs = []
        for steps in RUNS:
            end = f"{steps * dt!r}"
            sets = (*own, f"run.duration={end}", f"output.every={end}")
            request = pipeline.Request(scene, scene.with_suffix(".h5"), sets, "cpu", None, force=True)
            self._jobs.append(pipeline.prepare(request))
        self.turn()  # compiles

    def turn(self) -> np.ndarray:
        """[s], (2,) as of `Clock`, of a step of all worlds."""
        seconds = []
        for job in self._jobs:
            clock = Clock()
            pipeline.execute(job)
            seconds.append(clock.passed)
        return (seconds[1] - seconds[0]) / (RUNS[1] - RUNS[0])


class Environment:
    """The environment of the page under random actions."""

    def __init__(self, carts: type, worlds: int):
        self.env = carts(worlds)
        self.env.reset(seed=0)
        self._actions = np.random.default_rng(0).uniform(-1, 1, (CALLS, worlds, 1)).astype(np.float32)
        self.ended = 0
        for k in range(SETTLED):
            self.env.step(self._actions[k])

    def turn(self) -> np.ndarray:
        """As of `Runs`."""
        clock = Clock()
        for actions in self._actions:
            self.ended += int(self.env.step(actions)[2].sum())
        return clock.passed / (CALLS * self.env.steps)


def main() -> None:
    """Print the lines."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--worlds", type=int, nargs="+", default=[16384, 1024], help="of each line (default: 16384 1024)")
    parser.add_argument("--turns", type=int, default=7, help="of both (default: 7)")
    parser.add_argument("--cores", type=int, default=2, help="of the second ratio (default: 2)")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, console.stdout_kept_clean():
        os.chdir(name)
        carts = programs(Path(name))["CartPoles"]
        for worlds in args.worlds:
            both = Runs(Path(name) / "cartpole.yaml", worlds), Environment(carts, worlds)
            ratios = []
            for turn in range(args.turns):
                seconds = {k: both[k].turn() for k in ((0, 1) if turn % 2 else (1, 0))}
                ratios.append([on_cores(seconds[0], cores) / on_cores(seconds[1], cores) for cores in (1, args.cores)])
            both[1].env.close()
            (low, middle, high), (_, shared, _) = np.quantile(ratios, (0.25, 0.5, 0.75), axis=0).T
            ended = both[1].ended / (args.turns * CALLS)
            console.data(
                f"{worlds} worlds: {middle:.2f} of a run ({low:.2f} to {high:.2f}), {shared:.2f} on {args.cores} "
                f"cores; {ended:.0f} worlds end in a call"
            )


if __name__ == "__main__":
    main()
