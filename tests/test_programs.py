"""Steps as programs of stages: masks of worlds that are done, and lists within lists."""

import inspect
import re

import numpy as np
import pytest
from support.device import live_device

from simcli.kernels.complementarity.problem import Problem
from simcli.kernels.complementarity.start import READY
from simcli.kernels.device import stage_lists
from simcli.kernels.device.arena import Arena
from simcli.kernels.device.pack_arrays import PackArray
from simcli.kernels.device.programs import _SET, GROUPS, NOBODY, Program, Registers, _tables, begin, run
from simcli.kernels.device.stage_lists import only, repeat, repeat_blocks, set_registers, within
from simcli.kernels.language import ti
from simcli.pipeline import Request, prepare
from simcli.solvers import SOLVERS, RunPlan
from simcli.solvers.affine.programs import STEPS
from simcli.solvers.base.integrators import STAGES

pytestmark = pytest.mark.usefixtures("packs_of_two")
NOISE = 0.1  # of what worlds that are done hold
# Stops, dry friction, drives with a limit, rolling friction, a loop: every stage has something to do.
TOUCHING = """
simcli: 1
contact: {pairs: [{a: ball, b: ground, rolling_friction: 1e-3}, {a: box, b: ground, restitution: 0.5}]}
defaults: {body: {mass: 1, inertia: {diag: [0.1, 0.1, 0.1]}}}
world: {shapes: {ground: {type: plane}}}
bodies:
  ball: {pose: {xyz: [0, 0, 0.499]}, velocity: {linear: [1, 0, 0]}, shapes: {s: {type: sphere, radius: 0.5}}}
  box: {pose: {xyz: [3, 0, 0.5]}, velocity: {linear: [0, 0, -1]}, shapes: {s: {type: box, size: [1, 1, 1]}}}
  arm: {com: [0.5, 0, 0]}
joints:
  hinge: {type: revolute, parent: world, child: arm, at: [0, 5, 3], axis: [0, 1, 0], q: -0.29, qd: -2,
          limit: [-0.3, 1], friction: 0.1, drive: {mode: position, target: 0.5, stiffness: 5, damping: 1, effort_limit: 2}}
solver: {type: SOLVER, dt: 1 ms}
batch: {worlds: 5, vary: {joints.hinge.q: {list: [-0.29, -0.2, -0.298, 0.1, 0.5]}}}
run: {duration: 0.02}
output: {every: 5 ms}
"""
LOOP = """
simcli: 1
defaults: {body: {mass: 1, inertia: {diag: [0.1, 0.1, 0.1]}}, joint: {type: revolute, axis: [0, 1, 0]}}
bodies: {crank: {com: [0, 0, 0.5]}, rod: {com: [1, 0, 1]}, rocker: {com: [2, 0, 0.5]}}
joints:
  a: {parent: world, child: crank, qd: 1, limit: [-1, 0.004], friction: 0.05}
  b: {parent: crank, child: rod, at: [0, 0, 1]}
  c: {parent: world, child: rocker, at: [2, 0, 0], drive: {mode: position, target: 0.5, stiffness: 5, damping: 1}}
  d: {parent: rod, child: rocker, at: [2, 0, 1]}
solver: {type: generalized, dt: 1 ms, integrator: INTEGRATOR}
batch: {worlds: 5, vary: {joints.a.qd: {list: [1, -1, 3, 0, 2]}}}
run: {duration: 0.02}
output: {every: 5 ms}
"""
# Of natural coordinates without laws that stop something: rows that are polynomials, a drive, feedback that jumps.
SMOOTH = """
simcli: 1
defaults: {body: {mass: 1, inertia: {diag: [0.1, 0.1, 0.1]}}, joint: {type: revolute, axis: [0, 1, 0]}}
bodies: {crank: {com: [0, 0, 0.5]}, rod: {com: [1, 0, 1]}, rocker: {com: [2, 0, 0.5]}}
joints:
  a: {parent: world, child: crank, qd: 1, drive: {mode: effort, target: $u}}
  b: {parent: crank, child: rod, at: [0, 0, 1]}
  c: {parent: world, child: rocker, at: [2, 0, 0], drive: {mode: position, target: 0.5, stiffness: 5, damping: 1}}
  d: {parent: rod, child: rocker, at: [2, 0, 1]}
sensors: {e: {type: tachometer, joint: a}}
signals: {u: {expression: "-5*({sensor.e.tachometer} - 6)"}}
solver: {type: natural, dt: 1 ms, integrator: INTEGRATOR}
batch: {worlds: 5, vary: {joints.a.qd: {list: [1, -1, 3, 0, 2]}}}
run: {duration: 0.02}
output: {every: 5 ms}
"""
THROW = 60.0  # [m/s], of a heavy ball against the tip of an arm of 1 m
THROWN = f"""
simcli: 1
world: {{shapes: {{ground: {{type: plane}}}}}}
defaults: {{body: {{inertia: {{diag: [0.1, 0.1, 0.1]}}}}}}
bodies:
  arm:
    {{mass: 0.1, com: [0, 5, 1], inertia: {{diag: [0.01, 0.01, 0.01]}},
      shapes: {{tip: {{type: sphere, radius: 0.1, pose: {{xyz: [0, 5, 1]}}}}}}}}
  ball:
    {{mass: 10, pose: {{xyz: [-0.21, 5, 1]}}, velocity: {{linear: [10, 0, 0]}},
      shapes: {{s: {{type: sphere, radius: 0.1}}}}}}
  box:
    {{mass: 1, pose: {{xyz: [3, 0, 0.5]}}, velocity: {{linear: [1, 0, -1]}}, shapes: {{s: {{type: box, size: [1, 1, 1]}}}}}}
joints:
  hinge: {{type: revolute, parent: world, child: arm, at: [0, 5, 2], axis: [0, 1, 0], limit: [-0.05, 0.05]}}
solver: {{type: generalized, dt: 1 ms}}
batch: {{worlds: 4, vary: {{bodies.ball.velocity.linear: {{list: [[{THROW}, 0, 0], [10, 0, 0], [5, 0, 0], [1, 0, 0]]}}}}}}
run: {{duration: 0.01}}
output: {{every: 1 ms}}
"""
# Affine bodies: a limit that is met, a drive, what is led, held, pulled and pushed, and boxes that rub, or are just too far.
AFFINE = """
simcli: 1
params: {z: 0.0595}
world: {shapes: {ground: {type: plane}}}
defaults: {body: {mass: 1, inertia: {diag: [0.01, 0.01, 0.01]}}}
bodies:
  box: {pose: {xyz: [0, 0, "${z}"]}, velocity: {linear: [1, 0, 0]}, shapes: {it: {type: box, size: [0.1, 0.1, 0.1]}}}
  plate: {pose: {xyz: [1, 0, 0.3]}, kinematic: true, motion: {linear: [1, 0, 0.1]},
          shapes: {it: {type: box, size: [0.2, 0.2, 0.02]}}}
  flap: {pose: {xyz: [0, 5, 3]}, com: [0.1, 0, 0]}
  held: {pose: {xyz: [0, 7, 3]}, affine: {transform: {pose: {xyz: [0, 7, 3]}}}}
joints:
  hinge: {type: revolute, parent: world, child: flap, at: [0, 5, 3], axis: [0, 1, 0], q: -0.29, qd: "${-20 * z}",
          limit: [-0.3, 1], friction: 0.1, drive: {mode: position, target: $sway, stiffness: 5, damping: 1, effort_limit: 2}}
forces:
  cord: {type: spring, a: {world: [0, 5, 4]}, b: {body: held, at: [0, 0, 0]}, stiffness: 50, damping: 1, rest_length: 2}
  push: {type: wrench, body: held, force: [3, 0, 0], torque: [0, 0.1, 0]}
signals: {sway: {sine: {amplitude: 0.5, frequency: 10}}}
solver: {type: affine, integrator: INTEGRATOR, dt: 5 ms}
batch: {worlds: 5, vary: {params.z: {list: [0.0595, 0.0502, 0.07, 0.05001, 0.5]}}}
run: {duration: 0.04}
output: {every: 10 ms}
"""
CASES = {
    "generalized": TOUCHING.replace("SOLVER", "generalized"),
    "maximal": TOUCHING.replace("SOLVER", "maximal"),
    **{name: LOOP.replace("INTEGRATOR", name) for name in STAGES},
    "moreau": TOUCHING.replace("SOLVER, dt", "natural, integrator: moreau, dt"),
    **{name: LOOP.replace("generalized", "natural").replace("INTEGRATOR", name) for name in ("zhong06",)},
    **{f"smooth {name}": SMOOTH.replace("INTEGRATOR", name) for name in ("zhong06", "generalized_alpha")},
    **{name: AFFINE.replace("INTEGRATOR", name) for name in STEPS},
}
# Stages that find nothing to change here, or whose numbers they set to what they are.
QUIET = (
    "end_iteration",
    "tire",
    "_keep",
    "bound_spins",
    "count_iterations",
    "sleep",
    "wake",
    "note_residual",
    "note_missed",
    "solve_system",
    "correction_rhs",
    "count_correction",
    "cut_way",
    "stop_overflowing",
    "raise_forces",
    "stick_contacts",
    "let_arrive",
    "count_iteration",
    "cut_at_limits",
    "choose_bdf",
    "find_targets",
    "end_search",
    "note_smooth",
    "share_load",
    "keep",
    "note_search",
    "end_searches",
    "part_contacts",
)
OTHERS = ("bdf1", "generalized", "maximal", "semi_implicit", "implicit")  # whose lists are like those of the others


def maker(text, tmp_path):
    """Makes solvers of a scene, and says how many frames it has."""
    path = tmp_path / "scene.yaml"
    path.write_text(text)
    job = prepare(Request(path))
    device = live_device()
    schedule, options = job.schedule, job.spec.solver
    plan = RunPlan(schedule.dt, schedule.steps_per_frame, schedule.n_frames, job.channels)
    return lambda: (SOLVERS[options.type](job.model, options, plan, device, job.phases), plan.n_frames)


@pytest.fixture(params=[pytest.param(name, marks=[pytest.mark.slow] * (name in OTHERS)) for name in CASES])
def case(request, tmp_path):
    """Makes solvers of a tree, or of free bodies."""
    return maker(CASES[request.param], tmp_path)


def columns_of(solver, n_frames):
    """All columns of a run."""
    blocks = [solver.initial()]
    while sum(len(block.step) for block in blocks) <= n_frames:
        blocks.append(solver.advance(n_frames))
    return {name: np.concatenate([block.columns[name] for block in blocks]) for name in blocks[0].columns}


@pytest.mark.slow  # test_run_isolation and test_worlds_that_are_done tell it of programs
def test_a_bound_that_wakes_in_one_world_changes_no_other(tmp_path):
    """A ball throws the arm of one world past a bound that was too far to be watched; the others touch, too."""
    path = tmp_path / "scene.yaml"
    path.write_text(THROWN)
    device, found = live_device(), []
    for world in (None, 0, 1, 2, 3):
        job = prepare(Request(path, worlds=None if world is None else (world,)))
        plan = RunPlan(job.schedule.dt, job.schedule.steps_per_frame, job.schedule.n_frames, job.channels)
        found.append(columns_of(SOLVERS["generalized"](job.model, job.spec.solver, plan, device), plan.n_frames))
    batch, *alone = found
    rate = batch["frames/joint_qd"][..., -1]
    assert np.abs(rate[:, 0]).max() < 50.0 < 2.0 * THROW  # the bound at 0.05 rad has stopped the arm within a step of 1 ms
    for world, columns in enumerate(alone):
        for name, values in columns.items():
            assert np.ascontiguousarray(batch[name][:, world]).tobytes() == values[:, 0].tobytes(), (world, name)


def slots_of_blocks(owner, seen=None) -> list[PackArray]:
    """All slots below an object whose numbers the worlds of a block have in common."""
    seen = set() if seen is None else seen
    if id(owner) in seen or not hasattr(owner, "__dict__"):
        return []
    seen.add(id(owner))
    if isinstance(owner, PackArray):
        return [] if owner.is_masked else [owner]
    return [slot for value in vars(owner).values() for slot in slots_of_blocks(value, seen)]


@ti.kernel
def take_one(c: ti.template(), k: ti.i32):
    """Stage k of a program by itself, within a repetition."""
    for w in range(c.arena.n_blocks):
        c.arena.enter(w)
        GROUPS[0](c.program, c, k, w, 1)


def test_worlds_that_are_done_keep_their_bytes(case, request):
    """What worlds hold is disturbed, so that a stage writes something else than what stands there."""
    solver, _ = case()
    solver.initial()
    solver.advance(1 if "moreau" in request.node.name else 2)  # later all that touches there has parted
    core, arena, program = solver.core, solver.arena, solver.core.program
    start = arena.read()
    lanes = len(start)
    done = np.arange(lanes) % 2 == 1
    rng = np.random.default_rng(1)
    is_real = start != np.round(start)
    noisy = start * (1.0 + NOISE * rng.uniform(-1.0, 1.0, start.shape))
    disturbed = np.where(is_real, noisy, start)
    disturbed[:, program.masks.rows] = 1.0 * ~done[:, None]
    private = np.ones(arena.n_rows, bool)
    for slot in slots_of_blocks(core):
        private[slot.rows] = False
    quiet = set()
    for k in sorted(program.masked):
        arena.write(disturbed)
        arena.launch(take_one, core, k)
        after = arena.read()
        name = program.stages[k].function.__name__
        assert after[done][:, private].tobytes() == disturbed[done][:, private].tobytes(), name
        if after[~done].tobytes() == disturbed[~done].tobytes():
            quiet.add(name)
    assert quiet <= {*QUIET}


@pytest.mark.parametrize("name", CASES)
def test_what_whole_blocks_repeat_is_decided_by_numbers_of_blocks(name, tmp_path):
    """A condition of blocks that looks at worlds lets one of them go on because another one does."""
    solver = maker(CASES[name], tmp_path)()[0]
    program = solver.core.program
    for k in program.of_blocks - {NOBODY}:
        source = inspect.getsource(program.stages[k].function)
        assert re.findall(r"(\w+)\.load\(", source) == ["now"] * source.count(".load("), source
        assert "any_lane" not in source, source


class Counter:
    """A world counts up to its bound."""

    _data_oriented = True

    def __init__(self, arena):
        self.arena, (self.bound, self.count, self.ends, self.inner) = arena, arena.single.arrays(4)
        self.now = Registers(arena, "step", "share")


@ti.func
def increase(c: ti.template(), w: ti.i32):
    c.count.store(w, 0, c.count.load(w, 0) + ti.cast(c.now.load(w, "share"), ti.f64))


@ti.func
def increase_inner(c: ti.template(), w: ti.i32):
    c.inner.store(w, 0, c.inner.load(w, 0) + 1.0)


@ti.func
def note_share(c: ti.template(), w: ti.i32):
    c.ends.store(w, 0, c.arena.zero() + ti.cast(c.now.load(w, "share"), ti.f64))


@ti.func
def end(c: ti.template(), w: ti.i32):
    c.ends.store(w, 0, c.ends.load(w, 0) + 1.0)
    c.now.store(w, "step", c.now.load(w, "step") + 1)


def wants_more(c, w):
    return c.count.load(w, 0) < c.bound.load(w, 0)


def is_even(c, w):
    return c.bound.load(w, 0) % 2.0 == 0.0


def has_steps(c, w):
    return c.now.load(w, "step") < 2


@ti.kernel
def count(c: ti.template(), program: ti.template()):
    for w in range(c.arena.n_blocks):
        c.arena.enter(w)
        c.now.store(w, "step", 0)
        begin(program, w)
        run(program, c, w)


@pytest.mark.parametrize("in_warps", [False, True])  # on a CPU nobody stands beside a thread
def test_lists_nest_and_each_has_its_mask(in_warps):
    arena = Arena(live_device(), 5)
    c = Counter(arena)
    inner = repeat(increase_inner, at_most=3)
    body = (set_registers(share=2), repeat(increase, inner, where=wants_more, wanted=wants_more), only(is_even, end))
    steps = repeat_blocks(within(lambda owner: owner, *body), end, where=has_steps, wanted=has_steps)
    program = Program(arena, (steps,), c.now)
    program.in_warps = in_warps
    arena.build()
    bounds = np.array([0.0, 1.0, 2.0, 7.0, 4.0])
    for slot in (c.count, c.ends, c.inner):
        slot.write(np.zeros((1, 1, 1)))
    c.bound.write(bounds[:, None, None])
    arena.launch(count, c, program)
    turns = np.ceil(bounds / 2.0)
    assert c.count.read()[:, 0, 0].tolist() == (2.0 * turns).tolist()
    assert c.inner.read()[:, 0, 0].tolist() == (3.0 * turns).tolist()
    assert c.ends.read()[:, 0, 0].tolist() == np.where(bounds % 2 == 0, 2.0, 1.0).tolist()
    assert len(program.stages) == 7  # `end` has two owners


def lines_of(body, *zeros):
    """Registers that a list sets, and their values, line by line."""
    registers = Registers(Arena(live_device(), 4), "step", "share", zeros=zeros)
    program = Program(Arena(live_device(), 4), body, registers)
    kinds = [kind for kind, *_ in program.lines]
    table = next(found[4] for key, found in _tables.items() if key[:2] == (tuple(body), (registers.names, registers.zeros)))
    return [
        (registers.names[target], value)
        for kind, target, value in zip(kinds, table[3], table[4], strict=True)
        if kind == _SET
    ]


def test_a_register_is_set_where_it_may_have_another_value():
    """One that only lists set has no line that sets it to what it is; one that stages count up has a line each time."""
    body = (set_registers(share=0), increase, set_registers(share=0), increase)
    assert lines_of(body, "share") == []
    assert lines_of(body) == 2 * [("share", 0)]
    turns = repeat(set_registers(share=0), increase, set_registers(share=1), increase, at_most=3, wanted=wants_more)
    assert lines_of((turns, set_registers(share=1)), "share") == [("share", 0), ("share", 1), ("share", 0), ("share", 1)]
    assert lines_of((only(is_even, set_registers(share=0), increase),), "share") == []


@pytest.mark.parametrize("name", CASES)
def test_registers_that_begin_at_zero_are_set_by_lists_alone(name, tmp_path):
    solver = maker(CASES[name], tmp_path)()[0]
    program = solver.core.program
    for stage in program.stages:
        for zero in program.registers.zeros:
            assert f'now.store(w, "{zero}"' not in inspect.getsource(stage.function)


def test_a_register_that_some_worlds_set_is_set_back_for_the_others():
    """It is of the block: a world that does not begin the repetition would see what another one has set."""
    arena = Arena(live_device(), 4)
    c = Counter(arena)
    body = (set_registers(share=2, step=0), only(is_even, set_registers(share=7), increase), note_share)
    program = Program(arena, body, c.now)
    arena.build()
    for slot in (c.count, c.ends, c.inner):
        slot.write(np.zeros((1, 1, 1)))
    c.bound.write(np.array([0.0, 1.0, 2.0, 7.0])[:, None, None])
    arena.launch(count, c, program)
    assert c.count.read()[:, 0, 0].tolist() == [7.0, 0.0, 7.0, 0.0]
    assert c.ends.read()[:, 0, 0].tolist() == [2.0] * 4


def test_threads_of_a_warp_at_the_first_line_of_all_go_on(monkeypatch):
    monkeypatch.setattr(ti.simt.warp, "any_nonzero", lambda beside, votes: int(np.any(votes)))
    for n_lines in (1, 2, 5, 200):
        lines = np.random.default_rng(n_lines).integers(0, n_lines, 32)
        found = stage_lists.is_first.__wrapped__(np.uint32(0xFFFFFFFF), lines, n_lines.bit_length())
        assert (found != 0).tolist() == (lines == lines.min()).tolist()


def is_first(p, w):
    return p.chosen.load(w, 0) != 0.0


@ti.kernel
def ready(p: ti.template(), program: ti.template()):
    for w in range(p.arena.n_blocks):
        p.arena.enter(w)
        begin(program, w)
        run(program, p, w)


def test_a_problem_that_is_prepared_in_one_world_leaves_the_factors_of_the_others():
    """Factors of sweeps are what a whole block has: worlds that go on with Newton's method must still be told."""
    arena = Arena(live_device(), 5)
    p = Problem(arena, 3, 1, 0)
    p.chosen = arena.single.array()
    program = Program(arena, (only(is_first, *READY),))
    arena.build()
    arena.write(np.zeros((arena.n_blocks * arena.device.lanes, arena.n_rows)))
    p.mass.write(np.array([[1.0, 0.0, 1.0, 0.0, 0.0, 1.0]])[..., None])
    for slot in (p.has_admm_factors, p.known):
        slot.write(np.ones((1, 1, 1)))
    p.chosen.write(np.array([1.0, 0.0, 0.0, 0.0, 0.0])[:, None, None])
    arena.launch(ready, p, program)
    assert p.known.read()[:, 0, 0].tolist() == [0.0, 1.0, 1.0, 1.0, 1.0]
    assert p.has_admm_factors.read()[:, 0, 0].tolist() == [1.0] * 5
