"""Numbers that differ between worlds are columns: every kind of path makes the bytes of world by world, in one pass."""

from dataclasses import fields
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import yaml
from metamorphic import mechanisms
from metamorphic.written import scene_of
from support.column_kinds import kinds, kinds_of
from support.scenes import scene

from simcli.errors import SceneError
from simcli.model import build_worlds
from simcli.model.closure import loop_problem, newton
from simcli.model.joints import links
from simcli.model.phases import build_phases
from simcli.spec import passes, resolve
from simcli.spec.values.varied import DivergedError, Varied

MACHINE = """
params: {k: 2.0, L: 0.4, turn: 0.2}
materials:
  steel: {density: 800, friction: 0.4, restitution: 0.1, rolling_friction: 1e-3}
  soft: {density: 700, friction: 0.2}
  rubber: {density: 900, friction: 0.7}
world:
  gravity: [0, 0, -9.81]
  shapes: {ground: {type: plane, material: soft, offset: -0.2}}
bodies:
  a: {pose: {xyz: [0.1, 0.2, 1.3], rpy: [0.3, 0.2, 0.1]}, mass: 1, com: [0.1, 0, 0.02], inertia: {diag: [0.1, 0.2, 0.25]},
      gravity_compensation: 0.1, points: {tip: [0.4, 0, 0]}}
  b: {mass: 2, shapes: {s: {type: capsule, radius: 0.1, length: "${L}", material: steel, pose: {rpy: [0.1, 0.2, 0.3]}}}}
  c: {pose: {xyz: [2, 0, 1], quat_xyzw: [0.1, 0.2, 0.3, 0.9]}, velocity: {linear: [0.1, 0, 0], angular: [0, 1, 0]},
      shapes: {s: {type: sphere, radius: 0.1, material: soft}, t: {type: box, size: [0.1, 0.2, 0.3], density: 500}}}
  d: {pose: {xyz: [0, 3, 2], axis_angle: {axis: [0, 0, 1], angle: 0.3}}, mass: 1.5,
      inertia: {full: [[0.2, 0.01, 0], [0.01, 0.25, 0.02], [0, 0.02, 0.3]]}}
  e: {mass: 0.3, inertia: {diag: [0.1, 0.1, 0.1]}}
joints:
  wa: {type: revolute, parent: world, child: a, at: [0, 0, "${L}"], axis: [0.2, 1, 0.3], init_angle: 0.3, armature: 0.01,
       drive: {mode: position, target: 0.5, stiffness: 20, damping: 1, effort_limit: 10}, limit: [-2, 2], friction: 0.1}
  ab: {type: screw, parent: a, child: b, axis: [1, 1, 0], pitch: 0.1, damping: 0.2, q: 0.1, qd: 0.3,
       parent_frame: {xyz: [0.1, 0, "${L}"], rpy: [0.5, 0.1, 0]}, child_frame: {rpy: [0, 0.4, 0]},
       limit: {lower: -1, upper: 1, stiffness: 50, damping: 2}, velocity_limit: 5}
  ball: {type: ball, parent: world, child: d, at: [0, 3, 2.5], q: [0, 0, 0.1, 0.9], damping: 0.1}
  be: {type: prismatic, parent: a, child: e, at: [0, 0.3, 1], axis: [0, 1, 0], drive: {mode: effort, target: $push}}
forces:
  spring: {type: spring, a: {world: [1, 0, 0]}, b: {body: b, at: [0, 0.1, 0]}, stiffness: 5, damping: 0.1, rest_length: 0.5}
  blow: {type: wrench, body: a, force: [1, 0, 0], torque: [0, 0.1, 0]}
  push: {type: torque, joint: wa, value: 0.2}
  air: {type: drag, body: c, damping: 0.1, quadratic: 0.01}
  coil: {type: torsion, joint: ab, stiffness: 3, rest_angle: 0.1}
signals:
  push: {constant: 0.4}
  wave: {sine: {amplitude: "${k * sin(turn)}", frequency: 2, phase: 0.1, offset: 0.2}}
  law: {pid: {target: "{signal.wave}", input: "{joint.wa.q}", kp: 3, ki: 0.5, kd: 0.1}}
  late: {filter: {input: "{joint.ab.q}", time_constant: 0.1}}
solver: {type: generalized, integrator: semi_implicit, dt: 1 ms}
initial: {joint_qd: {be: 0.2}}
"""
# Dotted path to the range of its numbers; of vectors by component.
NUMBERS = {
    "params.L": (0.3, 0.6),
    "params.k": (0.5, 3),
    "params.turn": (-2, 2),
    "world.gravity[2]": (-12, -8),
    "bodies.a.mass": (0.5, 2),
    "bodies.a.com[0]": (-0.2, 0.2),
    "bodies.a.inertia.diag[1]": (0.17, 0.3),
    "bodies.a.pose.xyz[1]": (0, 1),
    "bodies.a.pose.rpy[2]": (-1, 1),
    "bodies.a.gravity_compensation": (0, 1),
    "bodies.a.points.tip[1]": (0, 1),
    "bodies.b.mass": (1, 3),
    "bodies.b.shapes.s.radius": (0.05, 0.2),
    "bodies.b.shapes.s.pose.rpy[0]": (-1, 1),
    "bodies.c.pose.quat_xyzw[1]": (-0.5, 0.5),
    "bodies.c.velocity.linear[1]": (-1, 1),
    "bodies.c.shapes.s.radius": (0.05, 0.2),
    "bodies.c.shapes.t.size[2]": (0.1, 0.5),
    "bodies.c.shapes.t.density": (300, 900),
    "bodies.d.pose.axis_angle.angle": (-2, 2),
    "bodies.d.pose.axis_angle.axis[0]": (-1, 1),
    "bodies.d.inertia.full[1][1]": (0.2, 0.3),
    "materials.steel.density": (500, 900),
    "materials.steel.friction": (0.1, 0.9),
    "materials.steel.restitution": (0, 0.5),
    "joints.wa.at[2]": (0.1, 1),
    "joints.wa.axis[0]": (-1, 1),
    "joints.wa.init_angle": (-1, 1),
    "joints.wa.armature": (0, 0.1),
    "joints.wa.friction": (0, 0.3),
    "joints.wa.drive.target": (-1, 1),
    "joints.wa.drive.stiffness": (1, 50),
    "joints.wa.drive.damping": (0, 5),
    "joints.wa.drive.effort_limit": (1, 20),
    "joints.wa.limit[0]": (-3, -1.5),
    "joints.ab.pitch": (0.05, 0.2),
    "joints.ab.damping": (0, 1),
    "joints.ab.q": (-0.5, 0.5),
    "joints.ab.qd": (-1, 1),
    "joints.ab.parent_frame.xyz[0]": (0, 1),
    "joints.ab.child_frame.rpy[1]": (-1, 1),
    "joints.ab.limit.stiffness": (10, 90),
    "joints.ab.velocity_limit": (1, 9),
    "joints.ball.q[2]": (-0.5, 0.5),
    "joints.ball.damping": (0, 1),
    "forces.spring.stiffness": (1, 9),
    "forces.spring.a.world[0]": (0.5, 2),
    "forces.spring.rest_length": (0.1, 1),
    "forces.spring.b.at[0]": (-1, 1),
    "forces.blow.force[0]": (-1, 1),
    "forces.push.value": (-1, 1),
    "forces.air.damping": (0, 1),
    "forces.coil.rest_angle": (-1, 1),
    "signals.push.constant": (-1, 1),
    "signals.wave.sine.phase": (0, 3),
    "signals.law.pid.kp": (1, 5),
    "signals.late.filter.time_constant": (0.05, 0.5),
    "initial.joint_qd.be": (-1, 1),
}
N = 19


def batch_of(paths: dict[str, tuple[float, float]], worlds: int = N) -> str:
    vary = "".join(f"    {path}: {{uniform: [{low}, {high}]}}\n" for path, (low, high) in paths.items())
    return f"batch:\n  worlds: {worlds}\n  seed: 5\n  vary:\n{vary}"


def arrays_of(table, prefix=""):
    for column in fields(table):
        value = getattr(table, column.name)
        if isinstance(value, np.ndarray):
            yield prefix + column.name, value
        elif hasattr(value, "__dataclass_fields__"):
            yield from arrays_of(value, f"{prefix}{column.name}.")
        elif isinstance(value, tuple):
            yield from ((f"{prefix}{column.name}[{k}]", one) for k, one in enumerate(value) if isinstance(one, np.ndarray))


def assert_same(one, other) -> None:
    both = zip(arrays_of(one), arrays_of(other), strict=True)
    for (name, mine), (_, theirs) in both:
        assert mine.shape == theirs.shape, name
        assert mine.tobytes() == theirs.tobytes(), name


@pytest.fixture
def resolved_alone(monkeypatch):
    """Numbers of the worlds that were resolved one by one, but for the first."""
    found = []
    plain = passes.resolve_world
    monkeypatch.setattr(passes, "resolve_world", lambda document, values, k: found.append(k) or plain(document, values, k))
    return found


def often(values, step: int) -> list:
    """Values as parameters, of which the default tier takes one of so many."""
    return [pytest.param(value, marks=[pytest.mark.full] * (k % step > 0)) for k, value in enumerate(values)]


@pytest.mark.parametrize("path", often(NUMBERS, 6))  # all of them at once below
def test_a_path_makes_the_bytes_of_world_by_world(path, monkeypatch, resolved_alone):
    document = scene(MACHINE + batch_of({path: NUMBERS[path]}))
    spec = resolve(document)
    columns = build_worlds(document, spec)
    assert not resolved_alone, "no column"
    monkeypatch.setattr(passes, "_MOST_GROUPS", 0)
    alone = build_worlds(document, spec)
    assert len(resolved_alone) == N
    assert_same(columns, alone)
    assert (columns.param_value != columns.param_value[0]).any()


def test_all_paths_together(monkeypatch, resolved_alone):
    document = scene(MACHINE + batch_of(NUMBERS, 40))
    spec = resolve(document)
    columns = build_worlds(document, spec)
    assert not resolved_alone
    monkeypatch.setattr(passes, "_MOST_GROUPS", 0)
    assert_same(columns, build_worlds(document, spec))


@pytest.mark.parametrize("n", [1, 7, 64, 1000])
def test_a_world_has_the_same_bytes_in_every_place(n):
    document = scene(MACHINE + batch_of(NUMBERS, 1000))
    spec = resolve(document)
    whole = dict(arrays_of(build_worlds(document, spec)))
    rng = np.random.default_rng(n)
    chosen = rng.permutation(1000)[:n]
    for name, some in arrays_of(build_worlds(document, spec, chosen.tolist())):
        many = whole[name]
        assert (many[chosen] if len(many) == 1000 else many).tobytes() == some.tobytes(), name


# Loops that stand open in some worlds alone, and anchors that differ between worlds.
OPEN = """
defaults: {joint: {type: revolute, axis: [0, 1, 0]}, body: {mass: 1, inertia: {diag: [0.01, 0.01, 0.01]}}}
bodies:
  crank: {pose: {xyz: [0.1, 0, 0]}}
  rod: {pose: {xyz: [0.45, 0, 0]}}
  slider: {pose: {xyz: [0.7, 0, 0]}}
joints:
  shaft: {parent: world, child: crank, at: [0, 0, 0], q: 0}
  pin: {parent: crank, child: rod, at: [0.2, 0, 0]}
  guide: {type: prismatic, parent: world, child: slider, at: [0.7, 0, 0], axis: [1, 0, 0], limit: [-0.3, 0.3]}
  wrist: {parent: rod, child: slider, at: [0.7, 0, 0], loop: true}
solver: {type: generalized}
batch: {vary: {joints.shaft.q: {list: [0, 0.2, 0, 0.3]}, "bodies.rod.pose.xyz[2]": {list: [0, 0.01, 0.02, 0.03]}}}
"""


def test_loops_close_in_the_worlds_in_which_they_stand_open(monkeypatch):
    document = scene(OPEN)
    spec = resolve(document)
    columns = build_worlds(document, spec)
    assert not columns.start.faults
    for k in range(4):
        alone = build_worlds(document, spec, [k])
        assert columns.joint_q[k].tobytes() == alone.joint_q[0].tobytes()
    monkeypatch.setattr(passes, "_MOST_GROUPS", 0)
    assert_same(columns, build_worlds(document, spec))


TURNS = OPEN[: OPEN.index("batch:")].replace("q: 0}", "q: 0.1, qd: 2}")


@pytest.mark.parametrize(
    "path",
    [
        "bodies.rod.mass",
        "bodies.rod.inertia.diag[1]",
        "joints.shaft.q",
        "joints.shaft.qd",
        "bodies.rod.pose.xyz[2]",
        "joints.pin.damping",
    ],
)
def test_loops_close_alike_in_portions_of_any_size(path, monkeypatch):
    document = scene(f"{TURNS}{batch_of({path: (0.01, 0.012)}, 11)}")
    spec = resolve(document)
    whole = build_worlds(document, spec)
    assert not whole.start.faults
    for size in (1, 3):
        monkeypatch.setattr(loop_problem, "_PORTION", size)
        monkeypatch.setattr(links, "_PORTION", size)
        some = build_worlds(document, spec)
        assert_same(whole, some)
        assert whole.start == some.start
    alone = build_worlds(document, spec, [7])
    for name in ("joint_q", "joint_qd"):
        one, all_worlds = getattr(alone, name), getattr(whole, name)
        assert one[0].tobytes() == all_worlds[7 if len(all_worlds) > 1 else 0].tobytes()


@pytest.mark.parametrize("path", ["bodies.rod.mass", "bodies.rod.inertia.diag[1]"])
def test_worlds_that_stand_alike_are_measured_once(path, monkeypatch):
    """Masses tell how fast links turn, but not where they are."""
    measured = []
    chart_at = loop_problem.chart_at
    monkeypatch.setattr(loop_problem, "chart_at", lambda model, q: measured.append(len(q)) or chart_at(model, q))
    text = TURNS.replace("q: 0.1, ", "")  # at the dead centre, where the loop is closed
    document = scene(f"{text}{batch_of({path: (0.01, 0.02)}, 40)}")
    model = build_worlds(document, resolve(document))
    assert max(len(model.links.mass), len(model.links.inertia)) == 40
    assert sum(measured) <= 3


def test_where_a_search_ends_is_not_measured_again(monkeypatch):
    """Worlds that travel: the next search begins there, and so do the velocities."""
    measured = []
    chart_at = loop_problem.chart_at
    monkeypatch.setattr(loop_problem, "chart_at", lambda model, q: measured.append(q.tobytes()) or chart_at(model, q))
    document = scene(f"{TURNS}{batch_of({'joints.shaft.q': (0.1, 0.9)}, 40)}")
    assert not build_worlds(document, resolve(document)).start.faults
    of_all = [q for q in measured if len(q) == max(map(len, measured))]
    assert len(of_all) > 3
    assert all(one != other for one, other in pairwise(of_all))


# By name the scene, and dotted path to the range of its numbers.
SCENES = yaml.safe_load((Path(__file__).parent / "support/varied_scenes.yaml").read_text())


@pytest.mark.parametrize("name", SCENES)
def test_paths_of_other_scenes(name, monkeypatch, resolved_alone):
    """Templates, units, frames, laws, planes, events, solvers, contact, signals, formulas, keyframes."""
    text = yaml.safe_dump(SCENES[name]["scene"])
    for path, ends in SCENES[name]["vary"].items():
        document = scene(f"{text}\n{batch_of({path: ends})}")
        spec = resolve(document)
        columns = build_phases(document, spec)
        assert not resolved_alone, path
        with monkeypatch.context() as alone:
            alone.setattr(passes, "_MOST_GROUPS", 0)
            for one, other in zip(columns, build_phases(document, spec), strict=True):
                assert_same(one.model, other.model)
        resolved_alone.clear()


# Numbers that no scene here varies: texts or numbers, data and times that worlds share, and laws that few scenes have.
UNTRIED = {
    "PidSignal.input",
    "FilterSignal.input",
    "SignalSpec.expression",
    "SignalSpec.rate",
    "SignalSpec.delay",
    "NoiseSpec.rate",
    "NoiseSpec.delay",
    "TableSignal.time",
    "HeightfieldShape.data",
    "MeshShape.scale",
    "NaturalSpec.vectors",
    "InertiaSpec.normal",
    "CouplingForce.hold",
    "CouplingForce.velocity_limit",
    "DrivingSpec.aim_distance",
    "DrivingSpec.stiffness",
    "JointSpec.bend",
    "JointSpec.bend_damping",
    "JointSpec.poisson",
    "JointSpec.stretch",
    "JointSpec.stretch_damping",
    "JointSpec.twist",
    "JointSpec.twist_damping",
    "TermSpec.polynomial",
    "PairSpec.barrier_stiffness",
    "PairSpec.compliance",
    "PairSpec.d_hat",
    "PoseSpec.quat_wxyz",
    "PoseSpec.quat_xyzw",
    "PoseSpec.rpy",
    "TransformSpec.angular",
    "TransformSpec.linear",
    "TransformSpec.shift",
    "TransformSpec.strength",
    "TransformSpec.turn",
}


def test_every_kind_of_number_is_tried_both_ways():
    """A number that the schema gains is varied here, or named above; so is one that is not varied any more."""
    paths = [*NUMBERS, *(path for one in SCENES.values() for path in one["vary"])]
    tried = set().union(*map(kinds_of, paths))
    assert kinds() - tried == UNTRIED


# Of loops, which travel from the drawing: alone, with a way of their own, or in a mechanism of their own.
WAYS = {
    "one crank": ["joints.shaft.q"],
    "crank and place": ["joints.shaft.q", "bodies.rod.pose.xyz[2]"],
    "crank and mass": ["joints.shaft.q", "bodies.rod.mass"],
}
RANGES = {"joints.shaft.q": (-3.0, 3.0), "bodies.rod.pose.xyz[2]": (0.0, 0.02), "bodies.rod.mass": (0.5, 2.0)}


@pytest.mark.parametrize("way", WAYS)
def test_loops_travel_alike_in_every_place(way):
    """Every place modulo 16 and batches of 1, 7, 64 and 1000, though worlds that go the same way share their steps."""
    n = 1000
    text = OPEN[: OPEN.index("batch:")].replace("limit: [-0.3, 0.3]", "damping: 1")
    document = scene(text + batch_of({path: RANGES[path] for path in WAYS[way]}, n))
    spec = resolve(document)
    whole = build_worlds(document, spec)
    assert not whole.start.faults
    assert len(whole.joint_q) == n
    rng = np.random.default_rng(3)
    picks = [[int(k)] for k in rng.choice(n, 5)] + [rng.permutation(n)[:size].tolist() for size in (7, 64, n)]
    first = rng.permutation(n)[:17]
    picks += [np.roll(first, shift).tolist() for shift in range(16)] if way == "one crank" else []
    for chosen in picks:
        some = build_worlds(document, spec, chosen)
        for name in ("joint_q", "joint_qd"):
            one, many = getattr(some, name), getattr(whole, name)
            wanted = many[chosen] if len(many) == n else many
            assert np.broadcast_to(one, wanted.shape).tobytes() == wanted.tobytes(), (name, len(chosen))


def test_a_way_that_is_shared_is_the_way_alone(monkeypatch):
    """As far as it goes where a loop does not close, too."""
    text = OPEN[: OPEN.index("batch:")].replace("xyz: [0.45, 0, 0]", "xyz: [0.25, 0, 0]").replace("0.7, 0, 0", "0.3, 0, 0")
    document = scene(text + batch_of({"joints.shaft.q": (-1.5, 1.5)}, 14))
    spec = resolve(document)
    shared = build_worlds(document, spec)
    monkeypatch.setattr(newton.Closer, "distinct", lambda *_: (None, None))
    alone = build_worlds(document, spec)
    assert_same(shared, alone)
    assert shared.start == alone.start


@pytest.mark.parametrize("start", range(16))
def test_numbers_are_the_same_in_every_place_modulo_16(start):
    document = scene(MACHINE + batch_of(NUMBERS, 48))
    spec = resolve(document)
    whole = dict(arrays_of(build_worlds(document, spec)))
    chosen = np.roll(np.arange(48), start)[:31]
    for name, some in arrays_of(build_worlds(document, spec, chosen.tolist())):
        many = whole[name]
        assert (many[chosen] if len(many) == 48 else many).tobytes() == some.tobytes(), name


def test_an_event_sets_the_number_of_each_world():
    document = scene(f"{yaml.safe_dump(SCENES['events']['scene'])}\n{batch_of({'params.d': (0.1, 0.5)})}")
    first, then, last = (phase.model for phase in build_phases(document, resolve(document)))
    assert len(set(first.param_value[:, 0])) == N
    for model in (then, last):
        assert (model.dofs.damping[:, 0] == first.param_value[:, 0]).all()


@pytest.mark.parametrize("name", SCENES)
def test_worlds_of_other_scenes_in_other_places(name):
    """All numbers of a scene at once; loops are closed, and what is not drawn follows."""
    document = scene(f"{yaml.safe_dump(SCENES[name]['scene'])}\n{batch_of(SCENES[name]['vary'], 67)}")
    spec = resolve(document)
    whole = dict(arrays_of(build_worlds(document, spec)))
    for n in (1, 16, 33):
        chosen = np.random.default_rng(n).permutation(67)[:n]
        for column, some in arrays_of(build_worlds(document, spec, chosen.tolist())):
            many = whole[column][chosen] if len(whole[column]) == 67 else whole[column]
            assert many.tobytes() == np.broadcast_to(some, many.shape).tobytes(), column


@pytest.mark.parametrize("bounds", [(0.0, 1.0), (-np.inf, 0.3), (0.7, np.inf), (0.2, 0.2), (2.0, 3.0)])
@pytest.mark.parametrize("n", [2, 3, 1000])
def test_a_bound_tells_whose_numbers_it_takes(bounds, n):
    def check(value):
        if not bounds[0] <= value <= bounds[1]:
            raise ValueError(value)
        return value

    values = np.append(np.random.default_rng(n).uniform(-1, 2, n), (0.2, -1.5, 1.9))
    wanted = (values >= bounds[0]) & (values <= bounds[1])
    with pytest.raises(DivergedError if wanted.any() else ValueError) as caught:
        Varied(values).checked(check)
    if wanted.any():
        assert (caught.value.mask == wanted).all()


# Of the generator of random mechanisms, in turn, and the solvers that take them.
KINDS = [
    lambda k: mechanisms.with_laws(mechanisms.mechanism(k, 4, False), k),
    lambda k: mechanisms.mechanism(k, 3, True),
    lambda k: mechanisms.heap(k, 3),
    mechanisms.spinning,
    lambda k: mechanisms.planar_loop(bool(k % 2)),
    mechanisms.floating_pushed,
    mechanisms.on_rails,
]
MODES = [
    ("generalized", "semi_implicit"),
    ("maximal", "semi_implicit"),
    ("natural", "zhong06"),
    ("affine", "bdf1"),
    ("generalized", "rk4"),
    ("natural", "moreau"),
]
SECTIONS = ("bodies", "joints", "forces", "materials", "world")


def numbers_in(node, path=""):
    """Paths and values of the numbers of a scene; of an inertia by rows those of its diagonal, whose mirrors are they."""
    if isinstance(node, dict):
        for key, value in node.items():
            yield from numbers_in(value, f"{path}.{key}" if path else key)
    elif isinstance(node, list):
        for index, value in enumerate(node):
            yield from numbers_in(value, f"{path}[{index}]")
    elif isinstance(node, int | float) and not isinstance(node, bool) and (".full[" not in path or path[-5] == path[-2]):
        yield path, float(node)


def random_scene(seed: int):
    """A random mechanism of a solver that takes it, with random numbers that differ between worlds."""
    rng = np.random.default_rng(seed)
    made = {key: value for key, value in scene_of(KINDS[seed % len(KINDS)](seed)).items() if key != "simcli"}
    paths = list(numbers_in({key: made[key] for key in SECTIONS if key in made}))
    for turn in range(len(MODES)):
        solver, integrator = MODES[(seed + turn) % len(MODES)]
        chosen = [paths[k] for k in rng.choice(len(paths), 3, replace=False)]
        vary = {path: {"uniform": [x - 0.05 * abs(x) - 1e-3, x + 0.05 * abs(x) + 1e-3]} for path, x in chosen}
        text = yaml.safe_dump(
            {
                **made,
                "solver": {"type": solver, "integrator": integrator, "dt": 1e-3},
                "batch": {"worlds": 23, "seed": seed, "vary": vary},
            }
        )
        document = scene(text)
        try:
            return document, resolve(document)
        except SceneError:  # the solver takes no such mechanism, or a bound is passed
            continue
    pytest.skip("no solver takes it")


def model_or_faults(document, spec):
    try:
        return build_worlds(document, spec)
    except SceneError as error:
        return [(fault.code, fault.message) for fault in error.faults]


@pytest.mark.parametrize("seed", often(range(200), 15))
def test_random_scenes_are_those_of_world_by_world(seed, monkeypatch, resolved_alone):
    document, spec = random_scene(seed)
    columns = model_or_faults(document, spec)
    assert isinstance(columns, list) or not resolved_alone
    monkeypatch.setattr(passes, "_MOST_GROUPS", 0)
    alone = model_or_faults(document, spec)
    if isinstance(alone, list):
        assert columns == alone
    else:
        assert_same(columns, alone)


# Values of which one makes no valid scene, by the number of its world.
WRONG = {
    "bodies.a.mass": (1.0, -2.0),
    "bodies.a.inertia.diag[1]": (0.2, 9.0),
    "joints.wa.damping": (0.2, -9.0),
    "joints.wa.limit[0]": (-2.0, 9.0),
    "bodies.c.shapes.s.radius": (0.2, -1.0),
    "materials.steel.restitution": (0.2, 1.5),
    "bodies.c.shapes.t.size[1]": (0.2, 0.0),
    "joints.wa.axis[1]": (1.0, 0.0),
    "forces.spring.stiffness": (2.0, -1.0),
    "params.turn": (0.1, 1e300),
    "bodies.c.pose.xyz[0]": (0.1, 1e70),
    "joints.wa.q": (0.1, 1e7),
}


@pytest.mark.parametrize("path", WRONG)
def test_a_fault_names_the_first_world_and_its_value(path, monkeypatch):
    good, bad = WRONG[path]
    values = [good * (1 + 0.001 * k) if k not in (33, 36) else bad for k in range(40)]
    text = MACHINE.replace("axis: [0.2, 1, 0.3]", "axis: [0, 1, 0]")
    document = scene(f"{text}batch:\n  vary:\n    {path}: {{list: {values}}}\n")
    spec = resolve(document)
    columns = model_or_faults(document, spec)
    monkeypatch.setattr(passes, "_MOST_GROUPS", 0)
    alone = model_or_faults(document, spec)
    if path != "params.turn":  # whose sine is a number all the same
        assert columns == alone
        assert any("world 33" in message for _, message in columns) or path == "joints.wa.q"
    else:
        assert_same(columns, alone)
