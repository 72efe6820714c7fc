"""Paths that nothing reads, judged by who reads them: refused wherever they vary, told where `--set` says them."""

import pytest

import simcli
from simcli.errors import SceneError, SimcliWarning, UsageError
from simcli.model.unread import unread_paths, unread_sets
from simcli.pipeline import build_model, read_scene
from simcli.pipeline.scenes import build_run
from simcli.search.fits.free_numbers import free_numbers
from simcli.search.intervals import read_intervals, read_single
from simcli.spec import resolve
from simcli.spec.document.overrides import SET, VARY, VARY_TABLE, Override
from simcli.spec.document.scene_file import load_document
from simcli.sweeps.planning.plan import plan_of

# What hides who reads a number: a factor of 0, a larger number, a whole turn, a bound, a law that is never reached, an
# expression of another parameter. Then numbers without a reader, each of a kind.
SCENE = """simcli: 1
params: {zero: 0, small: 1, large: 5, turns: 2, far: 9, top: 1000, chain: 2, of_chain: "${chain}", judged: 7, late: 0.2,
         by_default: 0.1, by_keyframe: 0.3, lone: 3, to_lone: 1, from_lone: "${to_lone}", no_default: 0.1, no_keyframe: 0.3}
defaults: {joint: {damping: "${by_default}", friction: "${no_default}"}}
materials:
  steel: {friction: 0.3, rolling_friction: 0.0, restitution: 0.0}
  rubber: {friction: 0.9, combine: {friction: max}}
  masked: {friction: 0.2, friction_static: 0.45, rolling_friction: 0.001}
  oak: {density: 700}
  spare: {friction: 0.1, density: 900}
world: {shapes: {ground: {type: plane, material: rubber}}}
bodies:
  a: {mass: 1, inertia: {diag: [1, 1, 1]}, pose: {xyz: [0, 0, 1]},
      shapes: {s: {type: sphere, radius: 0.5, material: steel}, t: {type: sphere, radius: 0.5, material: masked}}}
  b: {inertia: {diag: [1, 1, 1]}, pose: {xyz: [5, 0, 1]},
      shapes: {s: {type: sphere, radius: 0.5, material: oak, collide: false, margin: 0.001}}}
  c: {mass: 1, inertia: {diag: [1, 1, 1]}, pose: {xyz: [7, 0, 1]}, velocity: {linear: [1, 0, 0], angular: [0, 0, 1]},
      shapes: {s: {type: box, size: [1, 1, 1], collide: false}}}
  rod: {mass: 1, com: [0, 0, -0.5], inertia: {diag: [0.1, 0.1, 0.01]}, pose: {xyz: [9, 0, 9]}}
  bob: {mass: 1, com: [0, 0, -0.5], inertia: {diag: [0.1, 0.1, 0.01]}, pose: {xyz: [9, 9, 9]}}
joints:
  pin: {type: revolute, parent: world, child: rod, axis: [0, 1, 0], friction: 0.1, armature: "${chain * zero}",
        limit: [-9, "${min(far, 3)}"], drive: {mode: position, target: $aim, stiffness: "${max(small, large)}", damping: 0}}
  off: {type: revolute, parent: world, child: bob, axis: [0, 1, 0], damping: 0.2, friction: 0.1, enabled: false}
signals:
  aim: {sine: {amplitude: 0, frequency: 2, phase: "${2*pi*turns}"}}
  idle: {constant: 2}
  named: {constant: 0}
  also: {expression: "0 * {signal.named}"}
forces:
  push: {type: wrench, body: a, force: [0, "${0 * of_chain}", $also]}
keyframes: {home: {joint_q: {pin: "${by_keyframe}"}}, away: {joint_q: {pin: "${no_keyframe}"}}}
initial: {keyframe: home, joint_qd: {c_free: [1, 2, 3, 0, 0, 0]}}
contact:
  pairs:
    - {a: a/t, b: ground, friction: 0.3, rolling_friction: 0.01}
    - {a: a, b: ground, friction: 0.4}
events: [{at: 0, set: {joints.pin.armature: 0.01}}, {at: 0.05, set: {joints.pin.damping: "${late}"}}]
expect: [{max: joint.pin.q, below: "${judged}"}]
run: {duration: 0.1, stop_when: {quantity: joint.pin.q, above: "${top}"}}
solver: {type: generalized, dt: 1.0e-3}
"""
HAS_READER = (
    "params.small", "params.large", "params.turns", "params.far", "params.judged", "params.late", "params.chain",
    "params.of_chain", "params.by_default", "params.by_keyframe", "keyframes.home.joint_q.pin", "defaults.joint.damping",
    "materials.rubber.rolling_friction", "materials.steel.rolling_friction", "materials.steel.restitution",
    "materials.oak.density", "bodies.b.shapes.s.radius", "bodies.a.shapes.t.radius", "bodies.c.pose.xyz[0]",
    "joints.pin.damping", "joints.pin.friction", "joints.pin.q", "signals.aim.sine.amplitude", "signals.aim.sine.phase",
    "signals.named.constant", "signals.also.expression", "forces.push.force[1]", "contact.pairs[0].rolling_friction",
    "contact.pairs[1].friction", "world.gravity[2]", "bodies.c.velocity.linear[0]", "initial.joint_qd.c_free[0]",
    "materials.masked.restitution", "bodies.bob.mass",
)  # fmt: skip
UNREAD = (
    "params.lone", "params.to_lone", "params.from_lone", "params.no_default", "params.no_keyframe",
    "keyframes.away.joint_q.pin", "defaults.joint.friction", "materials.steel.friction", "materials.rubber.friction",
    "materials.masked.friction", "materials.masked.friction_static", "materials.masked.rolling_friction",
    "materials.spare.friction", "materials.spare.density", "materials.steel.density", "materials.oak.friction",
    "bodies.b.shapes.s.margin", "bodies.c.shapes.s.size[0]", "joints.off.damping", "joints.off.friction",
    "joints.pin.armature", "params.zero", "signals.idle.constant", "contact.pairs[0].friction",
)  # fmt: skip


@pytest.fixture
def scene(tmp_path):
    path = tmp_path / "s.yaml"
    path.write_text(SCENE)
    return path


@pytest.mark.parametrize("typed", [False, True])
def test_who_reads_a_path_decides_and_not_what_its_number_does(scene, typed):
    document = load_document(scene)
    found = unread_paths(document, resolve(document), (*UNREAD, *HAS_READER), typed)
    assert sorted(found) == sorted(UNREAD)


# One of each kind of the list, and one that only looks as if nothing read it.
KINDS = ("materials.spare.friction", "materials.masked.friction", "signals.idle.constant", "params.lone")


def run_vary(path, name):
    build_run(*read_scene(path, (Override(VARY, f"{name}=0.3, 0.4"),)))


def file_vary(path, name):
    path.write_text(SCENE + f"batch: {{worlds: 2, vary: {{'{name}': {{list: [0.3, 0.4]}}}}}}\n")
    build_run(*read_scene(path))


def vary_table(path, name):
    (path.parent / "t.csv").write_text(f"{name}\n0.3\n0.4\n")
    build_run(*read_scene(path, (Override(VARY_TABLE, str(path.parent / "t.csv")),)))


def sweep(path, name):
    (path.parent / "sweep.yaml").write_text(f"sweep: 1\nscene: s.yaml\nvary: {{'{name}': {{grid: [0.3, 0.4]}}}}\n")
    plan_of(path.parent / "sweep.yaml", device="cpu")


def fit(path, name):
    document, spec = read_single(path, (), "fit")
    free_numbers(path, (), document, spec, build_model(document, spec), [name], [])


def optimize(path, name):
    read_intervals(path, (), [f"{name}=0.3..0.4"])


def program(path, name):
    text = path.read_text()
    path.write_text("".join(line for line in text.splitlines(keepends=True) if not line.startswith(("events", "expect"))))
    simcli.Simulation(path, vary=[name], device="cpu").close()


DOORS = (run_vary, file_vary, vary_table, sweep, fit, optimize, program)


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
def test_every_door_refuses_what_nothing_reads(scene, door):
    text = scene.read_text()
    for name in KINDS:
        scene.write_text(text)
        if door is program and name.startswith("params"):
            continue  # which a program sets none of
        with pytest.raises((SceneError, UsageError)) as error:
            door(scene, name)
        assert "SC317" in str(error.value) or "changes nothing" in str(error.value)
        assert name in str(error.value)


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
def test_no_door_refuses_what_something_reads_to_no_effect(scene, door):
    """A phase of a sine of amplitude 0; for programs, which set no parameters and no such signals, a force in its place."""
    door(scene, "contact.pairs[1].friction" if door is program else "params.turns")


def test_set_is_told_and_not_refused(scene):
    for name in (*KINDS, "params.turns", "params.small"):
        sets = (f"{name}=0.31",)
        document, spec = read_scene(scene, sets)
        told = [line.split(":")[0] for line in unread_sets(document, spec)]
        assert told == ([f"{SET} {name}"] if name in KINDS else [])
    with pytest.warns(SimcliWarning, match="signals.idle.constant"):
        build_run(*read_scene(scene, ("signals.idle.constant=3",)))


@pytest.mark.parametrize(
    ("loser", "winner"),
    [("joints.pin.q", "initial.joint_q.pin"), ("keyframes.home.joint_q.pin", "initial.joint_q.pin"),
     ("initial.joint_q.p*", "initial.joint_q.pin"), ("bodies.c.velocity.linear[1]", "initial.joint_qd.c_free[1]")],
)  # fmt: skip
def test_a_start_that_another_place_decides(scene, loser, winner):
    """Of one rank; the same place alone is read, and so is a component beside the one that is beaten."""
    scene.write_text(SCENE.replace("keyframe: home,", "keyframe: home, joint_q: {'p*': 0.1, pin: 0.2},"))
    assert told_of(scene, (f"{loser}=0.3", f"{winner}=0.4")) == [loser]
    varied = (Override(VARY, f"{winner}=0.4, 0.5"), Override(VARY, f"{loser}=0.3, 0.35"))
    with pytest.raises(SceneError) as error:
        build_run(*read_scene(scene, varied))
    assert [fault.message.split("`")[1] for fault in error.value.faults] == [loser]
    beside = {"bodies.c.velocity.linear[1]": "bodies.c.velocity.linear[0]"}.get(loser)
    if beside:
        assert told_of(scene, (f"{beside}=0.3", f"{winner}=0.4")) == []


def told_of(scene, sets):
    return [line.split(":")[0].removeprefix("--set ") for line in unread_sets(*read_scene(scene, sets))]
