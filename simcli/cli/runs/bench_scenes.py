"""The scenes that `simcli bench` times when it is given none: chains, falling humanoids, stacks of boxes, piles of cubes.

Of piles of cubes with barrier contact, `--task cubes`, steps per second and Newton iterations are found here, too.
"""

import math
from collections.abc import Iterator
from pathlib import Path

from simcli.cli import console

HUMANOID = Path(__file__).resolve().parents[2] / "docs" / "humanoid.yaml"
PUSHED = (
    "bodies.torso.velocity={linear: [0, 0, 0]}",
    'batch.vary={"bodies.torso.velocity.linear[0]": {uniform: [-0.5, 0.5]}, '
    '"bodies.torso.velocity.linear[1]": {uniform: [-0.5, 0.5]}}',
)
LOOSE = ("name=humanoid_1e-5", "solver.contact.tolerance=1.0e-5")  # a thousand times the default, in m/s
STACK = """simcli: 1
name: stacks
params: {{d: 0.0}}
materials: {{m: {{density: 1000, friction: 0.5}}}}
world: {{shapes: {{ground: {{type: plane, material: m}}}}}}
bodies:
{boxes}solver: {{type: generalized, dt: 0.005}}
run: {{duration: 1.0}}
output: {{every: 0.05}}
batch: {{seed: 1, vary: {{params.d: {{uniform: [0.0, 0.02]}}}}}}
"""
_BOX = (
    '  b{i}: {{pose: {{xyz: ["${{{sign} * d}}", 0, "${{{z} + {i} * d / 4}}"]}}, '
    "shapes: {{s: {{type: box, size: [0.2, 0.2, 0.2], material: m}}}}}}\n"
)


def stacks(folder: Path) -> Path:
    """Five boxes that fall on each other, a little askew and apart, every world by another distance."""
    boxes = "".join(_BOX.format(i=i, sign=(-1) ** i, z=round(0.1 + 0.2 * i, 3)) for i in range(5))
    return _written(folder / "stacks.yaml", STACK.format(boxes=boxes).splitlines())


_SIDES = (2, 3, 4)  # cubes along each edge of a pile
_SIZE, _APART = 0.2, 0.02  # [m]
DURATION = 0.5  # [s]: they fall, meet, and lie


def time_cubes(folder: Path, worlds: int, device: str, threads: int, sets: tuple[str, ...]) -> Iterator[dict]:
    """One row per pile.

    Args:
        folder: where scenes and files go.
        worlds: of each run.
        device: of the runs.
        threads: of the runs.
        sets: overrides of the scenes.

    Yields:
        cubes, worlds, steps; seconds of stepping, world-steps per second; mean and largest number of Newton iterations of a
        step; largest number of contacts; seconds of compiling.
    """
    from simcli import pipeline
    from simcli.records.reading.reader import open_trajectory

    for side in _SIDES:
        path = _written(folder / f"cubes{side**3}.yaml", _pile(side))
        request = pipeline.Request(path, folder / "cubes.h5", (*sets, f"batch.worlds={worlds}"), device, threads, force=True)
        job = pipeline.prepare(request)
        with console.stdout_kept_clean():
            outcome = pipeline.execute(job)
        with open_trajectory(job.output) as trajectory:
            iterations, contacts = (trajectory.column(f"diag/{name}")[1:] for name in ("iterations", "contacts"))
        steps = job.schedule.n_steps
        yield {
            "cubes": side**3,
            "worlds": worlds,
            "steps": steps,
            "seconds": outcome.stepping,
            "per_second": worlds * steps / outcome.stepping,
            "iterations": float(iterations.mean()),
            "most_iterations": int(iterations.max()),
            "contacts": int(contacts.max()),
            "compile": outcome.compile,
        }


def _pile(side: int) -> list[str]:
    """Lines of a scene of affine cubes."""
    return [
        *boxes(side),
        "solver: {type: affine, dt: 0.01, contact: {d_hat: 2 mm}}",
        f"run: {{duration: {DURATION}}}",
        "output: {every: 0.01, channels: [joints]}",
    ]


def boxes(side: int, gap: float = _APART) -> list[str]:
    """Lines of a scene without its solver: cubes over each other, every layer a little beside the one below.

    Args:
        side: cubes along each axis.
        gap: [m], below each cube.
    """
    lines = ["simcli: 1", "world: {shapes: {ground: {type: plane}}}", "bodies:"]
    for k in range(side**3):
        layer, shift = k // side**2, 0.2 * _APART * (k // side**2 % 2)
        x, y = (i * (_SIZE + _APART) + shift for i in (k % side, k // side % side))
        z = _SIZE / 2 + gap + layer * (_SIZE + gap)
        lines.append(
            f"  c{k}: {{pose: {{xyz: [{x:.4f}, {y:.4f}, {z:.4f}]}}, shapes: {{it: {{type: box, "
            f"size: [{_SIZE}, {_SIZE}, {_SIZE}], density: 1000}}}}}}"
        )
    return lines


def table(rows: list[dict]) -> str:
    """The rows as text."""
    head = ("cubes", "worlds", "steps", "steps per second", "iterations", "most", "contacts", "compile s")
    lines = [
        (
            str(row["cubes"]),
            str(row["worlds"]),
            str(row["steps"]),
            f"{row['per_second']:.3g}",
            f"{row['iterations']:.2f}",
            str(row["most_iterations"]),
            str(row["contacts"]),
            f"{row['compile']:.1f}",
        )
        for row in rows
    ]
    return console.table(lines, head, indent="")


CHAINS = (2, 7, 20)  # hinges
PILES, LONG = (4, 10, 22), (100, 1000)  # boxes along an edge of a pile, and hinges, of one world
IN_STACKS = (1000, 10000)  # boxes in stacks of five, which do not touch each other
EDGE_AT_REST = 10  # boxes along an edge of a pile at rest
CHAIN_STEP = 0.5  # [m] between hinges
WALLS = (250, 1000)  # stones of a wall, in courses of which each has 2.5 times as many as there are courses
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
        lines.append(
            f"  b{i}: {{pose: {{xyz: [0, 0, {-CHAIN_STEP * i}]}}, mass: 1.0, com: [0, 0, -0.25], "
            "inertia: {diag: [0.02, 0.02, 0.00125]}}"
        )
    lines.append("joints:")
    for i in range(n):
        parent, axis = f"b{i - 1}" if i else "world", "[1, 0, 0]" if i % 2 else "[0, 1, 0]"
        lines.append(
            f"  j{i}: {{type: revolute, parent: {parent}, child: b{i}, at: [0, 0, {-CHAIN_STEP * i}], "
            f"axis: {axis}, q: {angle}}}"
        )
    lines += [
        "solver: {type: generalized, dt: 1.0e-3, integrator: semi_implicit}",
        "run: {duration: 1.0}",
        "output: {every: 0.01}",
        "batch: {seed: 1, vary: {joints.j0.q: {uniform: [0.0, 0.3]}}}",
    ]
    return _written(folder / f"chain{n}.yaml", lines)


def large(folder: Path) -> Iterator[tuple[Path, float]]:
    """Worlds of many bodies, else as `chains`: piles, stacks, chains almost straight, walls, what is at rest, trees."""
    ends = ["solver: {type: generalized, dt: 0.005}", "run: {duration: 1.0}", "output: {every: 0.05}"]
    for side, share in zip(PILES, (0.125, 0.0625, 0.0625), strict=True):
        yield _written(folder / f"pile{side**3}.yaml", [f"name: pile{side**3}", *boxes(side), *ends]), share
    for n in IN_STACKS:
        yield _written(folder / f"stacks{n}.yaml", [f"name: stacks{n}", *_many_stacks(n), *ends]), 0.05
    for n, share in zip(LONG, (0.25, 0.025), strict=True):
        yield _chain(folder, n, 0.001), share
    for n in WALLS:
        yield _written(folder / f"wall{n}.yaml", [f"name: wall{n}", *_wall(n), *ends]), 0.05
    for name, contact in (("rest", ""), ("asleep", ", contact: {sleep_after: 5 ms}")):
        solver = f"solver: {{type: generalized, dt: 0.005{contact}}}"
        lines = [*boxes(EDGE_AT_REST, 0.0), solver, "run: {duration: 4.0}", "output: {every: 0.05, channels: [joints]}"]
        yield _written(folder / f"{name}{EDGE_AT_REST**3}.yaml", [f"name: {name}{EDGE_AT_REST**3}", *lines]), 1.0
    loose = "solver: {type: generalized, dt: 0.005, contact: {tolerance: 1.0e-5}}"
    yield _written(folder / "piles1000.yaml", ["name: piles1000", *_small_piles(50), loose, *ends[1:]]), 0.125
    yield _written(folder / "trees1000.yaml", ["name: trees1000", *_trees(100), *ends]), 0.5


def _small_piles(n: int) -> list[str]:
    """Lines of a scene without its solver: n piles of 20 boxes, askew, that fall and slide."""
    lines, side = ["simcli: 1", "world: {shapes: {ground: {type: plane}}}", "bodies:"], math.ceil(n**0.5)
    for pile in range(n):
        for k in range(20):
            (layer, y), x = divmod(k // 2, 2), k % 2
            at = (
                1.6 * (pile % side) + 0.21 * x + 0.03 * (layer % 3),
                1.6 * (pile // side) + 0.21 * y + 0.02 * ((layer + k) % 3),
            )
            lines.append(
                f"  c{pile}_{k}: {{pose: {{xyz: [{at[0]:.3f}, {at[1]:.3f}, {0.12 + 0.22 * layer:.2f}]}}, shapes: {{it: "
                f"{{type: box, size: [{_SIZE}, {_SIZE}, {_SIZE}], density: 1000}}}}}}"
            )
    return lines


def _trees(n: int) -> list[str]:
    """Lines of a scene without its solver: n chains of ten bars, none like another."""
    lines, joints = ["simcli: 1", "bodies:"], ["joints:"]
    for chain in range(n):
        for k in range(10):
            name, parent = f"c{chain}_{k}", f"c{chain}_{k - 1}" if k else "world"
            lines.append(
                f"  {name}: {{pose: {{xyz: [0, {chain}, {-0.3 * k}]}}, mass: 1.0, com: [0, 0, -0.15], "
                "inertia: {diag: [0.01, 0.01, 0.001]}}"
            )
            joints.append(
                f"  j{chain}_{k}: {{type: revolute, parent: {parent}, child: {name}, at: [0, {chain}, {-0.3 * k}], "
                f"axis: [0, 1, 0], damping: 0.01, q: {0.2 + 0.01 * (chain % 30):.2f}}}"
            )
    return [*lines, *joints]


def _many_stacks(n: int) -> list[str]:
    """Lines of a scene without its solver: n boxes in stacks of five, at rest, in rows 0.5 m apart."""
    side = math.ceil((n / 5) ** 0.5)
    lines = ["simcli: 1", "world: {shapes: {ground: {type: plane}}}", "bodies:"]
    for k in range(n):
        (y, x), layer = divmod(k // 5, side), k % 5
        lines.append(
            f"  c{k}: {{pose: {{xyz: [{0.5 * x}, {0.5 * y}, {(layer + 0.5) * _SIZE:.1f}]}}, shapes: {{it: {{type: box, "
            f"size: [{_SIZE}, {_SIZE}, {_SIZE}], density: 1000}}}}}}"
        )
    return lines


def _wall(n: int) -> list[str]:
    """Lines of a scene without its solver: n stones in courses, each on two halves of the course below."""
    long, high = 0.4, 0.2
    stones = round((2.5 * n) ** 0.5)
    lines = ["simcli: 1", "world: {shapes: {ground: {type: plane}}}", "bodies:"]
    for k in range(n):
        course, place = divmod(k, stones)
        x, z = (place + 0.5 * (course % 2)) * long, (course + 0.5) * high
        lines.append(
            f"  s{k}: {{pose: {{xyz: [{x:.4f}, 0, {z:.4f}]}}, shapes: {{it: {{type: box, "
            f"size: [{long}, {high}, {high}], density: 2000}}}}}}"
        )
    return lines


def four_bars(folder: Path) -> Iterator[tuple[Path, float]]:
    """Windows in a row, planar, in natural coordinates: IFToMM A02, every world with another speed; else as `chains`."""
    for n in WINDOWS:
        lines = [
            "simcli: 1",
            f"name: fourbar{n}",
            "world: {plane: xy}",
            "params: {v: 1.0}",
            'defaults: {body: {mass: 1, inertia: {diag: [0, 0, "${1/12}"]}, natural: 1P1V}, '
            "joint: {type: revolute, axis: [0, 0, 1]}}",
            "bodies:",
        ]
        lines += [f"  upright{i}: {{pose: {{xyz: [{i}, 0.5, 0]}}}}" for i in range(n + 1)]
        lines += [f"  bar{i}: {{pose: {{xyz: [{i + 0.5}, 1, 0]}}}}" for i in range(n)]
        lines.append("joints:")
        for i in range(n + 1):
            speed = ', qd: "${-v}"' if i == 0 else ""
            lines.append(f"  A{i}: {{parent: world, child: upright{i}, at: [{i}, 0, 0]{speed}}}")
        for i in range(n):
            lines.append(f"  B{i}: {{parent: upright{i}, child: bar{i}, at: [{i}, 1, 0]}}")
            lines.append(f"  C{i}: {{parent: bar{i}, child: upright{i + 1}, at: [{i + 1}, 1, 0]}}")
        lines += [
            "solver: {type: natural, dt: 5.0e-4, integrator: zhong06}",
            "run: {duration: 1.0}",
            "output: {every: 0.01}",
            "batch: {seed: 1, vary: {params.v: {uniform: [0.8, 1.2]}}}",
        ]
        yield _written(folder / f"fourbar{n}.yaml", lines), WINDOWS[0] / n


def _written(path: Path, lines: list[str]) -> Path:
    path.write_text("\n".join(lines) + "\n")
    return path
