"""The scenes that `simcli bench` times when it is given none."""

from collections.abc import Iterator
from pathlib import Path

from simcli.cli.bench.cubes import boxes

CHAINS = (2, 7, 20)  # hinges
PILES, LONG = (4, 10), (100, 1000)  # boxes along an edge of a pile, and hinges, of one world
CHAIN_STEP = 0.5  # [m] between hinges
WINDOWS = (2, 5, 10, 20, 40)  # of the four-bars


def chains(folder: Path) -> Iterator[tuple[Path, float]]:
    """Hinges with crossed axes, every world from another start.

    Args:
        folder: where the scenes go.

    Yields:
        A scene, and the share of the simulated time that it is to be run.
    """
    for n in CHAINS:
        yield _chain(folder, n, 0.1), 1.0


def _chain(folder: Path, n: int, angle: float) -> Path:
    """A chain of n hinges, each of them bent by an angle [rad] as it begins."""
    lines = ["simcli: 1", f"name: chain{n}", "bodies:"]
    for i in range(n):
        lines.append(f"  b{i}: {{pose: {{xyz: [0, 0, {-CHAIN_STEP * i}]}}, mass: 1.0, com: [0, 0, -0.25], "
                     "inertia: {diag: [0.02, 0.02, 0.00125]}}")  # fmt: skip
    lines.append("joints:")
    for i in range(n):
        parent, axis = f"b{i - 1}" if i else "world", "[1, 0, 0]" if i % 2 else "[0, 1, 0]"
        lines.append(f"  j{i}: {{type: revolute, parent: {parent}, child: b{i}, at: [0, 0, {-CHAIN_STEP * i}], "
                     f"axis: {axis}, q: {angle}}}")  # fmt: skip
    lines += ["solver: {type: generalized, dt: 1.0e-3, integrator: semi_implicit}", "run: {duration: 1.0}",
              "output: {every: 0.01}",
              "batch: {seed: 1, vary: {joints.j0.q: {uniform: [0.0, 0.3]}}}"]  # fmt: skip
    return _written(folder / f"chain{n}.yaml", lines)


def large(folder: Path) -> Iterator[tuple[Path, float]]:
    """Worlds of many bodies: boxes that fall into piles, and long chains that hang almost straight; else as `chains`."""
    for side, share in zip(PILES, (0.125, 0.0625), strict=True):
        lines = [*boxes(side), "solver: {type: generalized, dt: 0.005}", "run: {duration: 1.0}", "output: {every: 0.05}"]
        yield _written(folder / f"pile{side**3}.yaml", [f"name: pile{side**3}", *lines]), share
    for n, share in zip(LONG, (0.25, 0.025), strict=True):
        yield _chain(folder, n, 0.001), share


def four_bars(folder: Path) -> Iterator[tuple[Path, float]]:
    """Windows in a row, planar, in natural coordinates: IFToMM A02, every world with another speed; else as `chains`."""
    for n in WINDOWS:
        lines = [
            "simcli: 1", f"name: fourbar{n}", "world: {plane: xy}", "params: {v: 1.0}",
            'defaults: {body: {mass: 1, inertia: {diag: [0, 0, "${1/12}"]}, natural: 1P1V}, '
            "joint: {type: revolute, axis: [0, 0, 1]}}", "bodies:",
        ]  # fmt: skip
        lines += [f"  upright{i}: {{pose: {{xyz: [{i}, 0.5, 0]}}}}" for i in range(n + 1)]
        lines += [f"  bar{i}: {{pose: {{xyz: [{i + 0.5}, 1, 0]}}}}" for i in range(n)]
        lines.append("joints:")
        for i in range(n + 1):
            speed = ', qd: "${-v}"' if i == 0 else ""
            lines.append(f"  A{i}: {{parent: world, child: upright{i}, at: [{i}, 0, 0]{speed}}}")
        for i in range(n):
            lines.append(f"  B{i}: {{parent: upright{i}, child: bar{i}, at: [{i}, 1, 0]}}")
            lines.append(f"  C{i}: {{parent: bar{i}, child: upright{i + 1}, at: [{i + 1}, 1, 0]}}")
        lines += ["solver: {type: natural, dt: 5.0e-4, integrator: zhong06}", "run: {duration: 1.0}",
                  "output: {every: 0.01}", "batch: {seed: 1, vary: {params.v: {uniform: [0.8, 1.2]}}}"]  # fmt: skip
        yield _written(folder / f"fourbar{n}.yaml", lines), WINDOWS[0] / n


def _written(path: Path, lines: list[str]) -> Path:
    path.write_text("\n".join(lines) + "\n")
    return path
