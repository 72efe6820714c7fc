"""Threads of one world: the same bytes for any number of them, for any number of parts, and whatever part is first."""

import sys
from functools import partial

import numpy as np
import pytest
from support.forward import Runner
from support.process import BUSY_SHARE, cpu_by_thread, start
from support.runs import digest
from support.solver_modes import MODES

from simcli.engines import cores
from simcli.errors import SimcliError

PARTS = 6
DT, STEPS, FRAMES = 0.004, 5, 8
LONG = {"stacks": 3.0, "chains": 100.0}  # [s], long enough for threads to be seen at work
MOVES = 0.01  # [m or rad], at least
SIDE, HIGH, N_CHAINS, N_BARS = 4, 4, 40, 3
MANY = 7, 80  # stacks along an edge, and chains, of worlds that two threads share
CHANNELS = frozenset(("joints", "bodies", "energy", "contacts", "reactions", "diagnostics"))
NAMES = ("wood", "felt", "ball")
MATERIALS = """materials:
  wood: {friction: 0.4}
  felt: {friction: 0.4, rolling_friction: 0.01, torsional_friction: 0.02}
  ball: {friction: 0.2, restitution: 0.5}
"""


def stacks(side: int = SIDE) -> str:
    """Stacks of boxes, some of which roll or bounce, and balls that fall on them."""
    lines = [MATERIALS + "world: {shapes: {ground: {type: plane, material: wood}}}", "bodies:"]
    for k in range(side * side):
        x, y = 0.5 * (k % side), 0.5 * (k // side)
        for level in range(HIGH):
            size = f"[0.2, {0.18 + 0.01 * level}, 0.2]"
            shape = f"{{type: box, size: {size}, density: 1000, material: {NAMES[k % 3]}}}"
            lines.append(f"  b{k}_{level}: {{pose: {{xyz: [{x}, {y}, {0.1 + 0.2 * level}]}}, shapes: {{s: {shape}}}}}")
        ball = "{type: sphere, radius: 0.08, density: 500, material: ball}"
        lines.append(f"  ball{k}: {{pose: {{xyz: [{x + 0.05}, {y}, {HIGH * 0.2 + 0.09}]}}, shapes: {{s: {ball}}}}}")
    return "\n".join(lines)


def chains(n: int = N_CHAINS, collide: bool = False) -> str:
    """Chains of bars side by side, none like another, with damping and a drive each."""
    where = "contact: {pairs: []}" if collide else ""
    bodies, joints = ["bodies:"], ["joints:"]
    for k in range(n):
        before = "world"
        for level in range(N_BARS):
            name, at = f"c{k}_{level}", f"xyz: [0, {k}, {-0.3 * level}]"
            shape = f"{{type: box, size: [0.05, 0.1, 0.3], density: {900 + 10 * k}, collide: {str(collide).lower()}}}"
            bodies.append(f"  {name}: {{pose: {{xyz: [0, {k}, {-0.15 - 0.3 * level}]}}, shapes: {{s: {shape}}}}}")
            anchors = (
                f"parent_frame: {{{at if before == 'world' else 'xyz: [0, 0, -0.15]'}}}, child_frame: {{xyz: [0, 0, 0.15]}}"
            )
            joints.append(
                f"  j{k}_{level}: {{type: revolute, parent: {before}, child: {name}, axis: [0, 1, 0], {anchors}, "
                f"damping: 0.01, drive: {{mode: position, stiffness: {1 + k % 3}}}, q: {0.2 + 0.01 * k}}}"
            )
            before = name
    return "\n".join([*bodies, *joints, where])


def frames_of(run: Runner, parts: int, first: int = 0) -> dict[str, np.ndarray]:
    """What a run gives whose stages one thread takes in parts."""
    crew = run.solver.core.arena.crew
    crew.n_parts, crew.first = parts, first
    found = run(DT, STEPS, FRAMES)
    if run.contacts is None:
        return found
    return found | {"count": run.contacts.count} | {f"contacts/{name}": rows for name, rows in run.contacts.columns.items()}


def runner_of(scene: str, solver: str, integrator: str, device) -> Runner:
    """A run of a scene, of a solver and an integrator that have it."""
    try:
        run = Runner(f"{SCENES[scene]()}\nsolver: {{type: {solver}}}\nrun: {{duration: 1}}", integrator, device, CHANNELS)
    except SimcliError as error:
        if "does not support" not in str(error):
            raise
        pytest.skip(str(error).splitlines()[0])
    if not run.solver.core.program.is_shared:
        pytest.skip(f"{solver} has no stages in parts")
    return run


SCENES = {"stacks": stacks, "chains": chains, "chains that may touch": partial(chains, collide=True)}
TOUCHED = ("generalized", "semi_implicit"), ("natural", "zhong06")
CASES = [pytest.param(*mode, marks=() if mode in TOUCHED else pytest.mark.slow) for mode in MODES]


@pytest.mark.parametrize("scene", SCENES)
@pytest.mark.parametrize(("solver", "integrator"), CASES)
def test_bytes_do_not_depend_on_threads_and_parts(scene, solver, integrator, device):
    """Parts in their order, and backwards, so that none depends on another one."""
    alone = frames_of(runner_of(scene, solver, integrator, device), 1)
    assert np.ptp(alone["frames/body_q"], axis=0).max() > MOVES
    for first in (0, PARTS - 1):
        found = frames_of(runner_of(scene, solver, integrator, device), PARTS, first)
        assert [name for name in alone if not np.array_equal(alone[name], found[name])] == [], first


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")
@pytest.mark.skipif(cores() < 2, reason="needs two cores")
@pytest.mark.parametrize("scene", [pytest.param("stacks", marks=pytest.mark.slow), "chains"])
def test_two_threads_share_a_world_and_write_the_bytes_of_one(scene, tmp_path):
    """Both are at work, and what comes out of it says nothing of that."""
    many = dict(zip(("stacks", "chains"), MANY, strict=True))[scene]
    text = f"simcli: 1\n{SCENES[scene](many)}\nsolver: {{type: generalized, dt: {DT}}}\nrun: {{duration: {LONG[scene]}}}"
    (tmp_path / "scene.yaml").write_text(f"{text}\noutput: {{every: 0.5}}\n")
    digests = []
    for threads in (1, 2):
        words = "run", "scene.yaml", "--threads", threads, "-o", f"{threads}.h5", "-q"
        process = start(*words, cwd=tmp_path)
        ticks = cpu_by_thread(process)
        assert process.wait() == 0
        at_work = [thread for thread, n in ticks.items() if n > BUSY_SHARE * sum(ticks.values())]
        assert len(at_work) >= threads, ticks
        digests.append(digest(tmp_path / f"{threads}.h5"))
    assert digests[0] == digests[1]


def test_a_stage_whose_items_depend_on_each_other_is_noticed(device):
    """So the test above can fail: trees that hang on each other are placed differently backwards."""
    run = runner_of("chains", "generalized", "semi_implicit", device)
    alone, tables = frames_of(run, 1), run.solver.core.tables
    starts = np.arange(tables.n_links + 1)  # each link a tree: children are placed before their parents, backwards
    place = tables.tree_start.strip
    assert tables.n_trees == N_CHAINS
    run.solver.arena.constants["ints"][place.row : place.row + N_CHAINS + 1] = starts[: N_CHAINS + 1] * 2
    found = frames_of(run, PARTS, PARTS - 1)
    assert not np.array_equal(alone["frames/body_q"], found["frames/body_q"])
