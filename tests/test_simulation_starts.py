"""Worlds that begin anew in process: nothing of what was before is left, in every solver, with loops, laws and contacts.

World k has the same bytes whatever its neighbours are: other worlds of its pack, in other lanes, that fail, or none.

Every integrator, with what a scene can hold that branches: terrain, meshes, rolling, bounces, limits, dry friction, drives
with effort limits, a loop, feedback. Neighbours differ in what they start with, and in what they have at all.

Worlds that begin anew one by one, in scenes where something depends on time: they see their own.

Parameters that are written where they stand, against tables that are built anew: the same bytes and refusals.

Memory is laid out for every kind of parameter, whatever its values are; where it is not, they are refused by name.
"""

import numpy as np
import pytest
from support.device import live_device
from test_run_resume import LOOP
from test_simulation import ARM, CASES, fresh, opened, run, same

from simcli.errors import SceneError, UsageError
from simcli.joint_types import COORDINATES_OF, IN_A_TREE, NONHOLONOMIC, RIBLE, has_quaternion
from simcli.pipeline import Request, prepare
from simcli.simulation.parameters import ParameterColumns
from simcli.solvers import SOLVERS, RunPlan
from simcli.solvers.affine.programs import STEPS
from simcli.solvers.base.integrators import STAGES

pytestmark = pytest.mark.usefixtures("packs_of_two")

BALLS = """
simcli: 1
materials: {m: {friction: 0.5}}
world: {shapes: {ground: {type: plane, material: m}}}
bodies:
  one:
    {pose: {xyz: [0, 0, 0.12]}, mass: 1, velocity: {linear: [1, 0, 0]},
     shapes: {ball: {type: sphere, radius: 0.1, material: m}}}
  two: {pose: {xyz: [0.25, 0, 0.35]}, mass: 1, shapes: {ball: {type: sphere, radius: 0.1, material: m}}}
solver: {type: generalized, dt: 1.0e-3}
run: {duration: 0.2}
"""
SCENES = {"loop": LOOP, "balls": BALLS}
QUICK = {("loop", "generalized", "implicit")}


def cases():
    return list(_cases())


def _cases():
    for scene in SCENES:
        for solver, integrator in CASES:
            if (scene, integrator) in {("balls", "zhong06"), ("balls", "generalized_alpha")}:
                continue  # which take no contact
            marks = () if (scene, solver, integrator) in QUICK else (pytest.mark.slow,)
            yield pytest.param(scene, solver, integrator, marks=marks)


@pytest.mark.parametrize(("name", "solver", "integrator"), cases())
def test_nothing_of_what_was_before_is_left(tmp_path, name, solver, integrator):
    (tmp_path / "scene.yaml").write_text(SCENES[name])
    sets = (f"solver.type={solver}", f"solver.integrator={integrator}", "output.channels=[state, energy]")
    if name == "loop" and integrator == "generalized_alpha":
        with pytest.raises(SceneError, match="SC501: the natural solver does not support dry friction"):
            opened(tmp_path / "scene.yaml", *sets)
        return
    with opened(tmp_path / "scene.yaml", *sets, worlds=3) as sim, opened(tmp_path / "scene.yaml", *sets, worlds=3) as other:
        sim.step(150)
        other.step(150)
        assert not same(fresh(sim), fresh(other))
        sim.reset([1])
        other.reset()
        assert not same(fresh(sim), fresh(other), [1])
        sim.step(100)
        other.step(100)
        assert not same(fresh(sim), fresh(other), [1])
        assert same(fresh(sim), fresh(other), [0, 2])


def test_loops_are_closed_where_worlds_are_put(tmp_path):
    (tmp_path / "loop.yaml").write_text(LOOP)
    with opened(tmp_path / "loop.yaml", "solver.integrator=implicit", worlds=3) as sim:
        sim.step(20)
        sim.set({"joint.pin.q": [0.2, 0.4, 0.6], "joint.pin.qd": 3.0})
        q, knee, wrist = (sim.get(f"joint.{one}.q")[:, 0] for one in ("pin", "knee", "wrist"))
        assert np.abs(q - [0.2, 0.4, 0.6]).max() < 1e-9
        # crank 0.2 m, rod 0.4 m, both turned about y: the end of the rod stays on the rail, and the slider level
        assert np.abs(0.2 * np.sin(q) + 0.4 * np.sin(q + knee)).max() < 1e-9
        assert np.abs(q + knee + wrist).max() < 1e-9
        assert np.abs(sim.get("joint.pin.qd") - 3.0).max() < 1e-9
        slider = sim.get("body.slider.position")[:, 0]
        assert np.abs(slider - 0.2 * np.cos(q) - 0.4 * np.cos(q + knee)).max() < 1e-9
        sim.step(20)
        assert np.abs(sim.get("diag.position_violation")).max() < 1e-9
        with pytest.raises(UsageError, match=r"set `joint\.rail\.q`: the joint closes a loop"):
            sim.set("joint.rail.q", 0.1)
        before = fresh(sim)
        with pytest.raises(UsageError, match=r"world 1: .*limit"):
            sim.set("joint.hinge.q", [0.0, 0.9, 0.0])  # beyond its limit
        assert not same(fresh(sim), before)


FELT = """
simcli: 1
bodies:
  rod: {mass: 1, com: [0.5, 0, 0], inertia: {diag: [0.01, 0.1, 0.1]}}
joints:
  pin: {type: revolute, parent: world, child: rod, axis: [0, 1, 0], q: 0.2, drive: {mode: effort, target: $u}}
signals:
  u: {LAW}
  aim: {constant: 0.1}
sensors:
  turning: {type: tachometer, joint: pin}
solver: {type: generalized, dt: 1.0e-3}
run: {duration: 0.2}
output: {quantities: [sensor.turning.tachometer]}
"""


def test_feedback_begins_anew_and_sensors_are_quantities(tmp_path):
    law = 'expression: "60*({signal.aim} - {joint.pin.q}) - 5*{joint.pin.qd}"'
    (tmp_path / "felt.yaml").write_text(FELT.replace("LAW", law))
    aims = [[0.1], [0.3], [-0.2]]
    with opened(tmp_path / "felt.yaml", worlds=3) as sim, opened(tmp_path / "felt.yaml", worlds=3) as other:
        sim.step(60, control={"$aim": aims})
        assert np.array_equal(sim.get("sensor.turning.tachometer"), sim.get("joint.pin.qd")[:, 0])
        sim.reset([1])
        sim.step(40)
        other.step(0, control={"$aim": aims})
        other.reset()  # which begins with what holds now: laws are sampled where a run begins
        other.step(40)
        assert not same(fresh(sim), fresh(other), [1])
        assert same(fresh(sim), fresh(other), [0, 2])
        with pytest.raises(UsageError, match="signal `u` is worked out from others; only constant signals are set"):
            sim.step(1, {"pin": 0.1})
    (tmp_path / "slow.yaml").write_text(FELT.replace("LAW", f"{law}, rate: 100 Hz"))
    with opened(tmp_path / "slow.yaml", worlds=3) as sim, opened(tmp_path / "slow.yaml", worlds=3) as other:
        other.step(33)
        sim.step(7)
        sim.reset([1])
        sim.step(33)
        assert not same(fresh(sim), fresh(other), [1])
    pid = 'pid: {input: "{joint.pin.q}", target: "{signal.aim}", kp: 60, ki: 40, kd: 5}'
    (tmp_path / "pid.yaml").write_text(FELT.replace("LAW", pid))
    with opened(tmp_path / "pid.yaml", worlds=3) as sim:
        sim.step(0, control={"$aim": aims})
        found = []
        for _ in range(2):
            sim.reset()
            sim.step(40)
            found.append(fresh(sim))
        assert not same(*found)
        sim.reset([1])
        sim.step(40)
        assert not same(fresh(sim), found[0], [1])
        sim.set({"joint.pin.q": 0.2, "joint.pin.qd": 0.0})
        sim.step(40)
        assert not same(fresh(sim), found[0])


def test_arrays_of_a_device_are_taken_without_a_copy(tmp_path, monkeypatch):
    """The memory of a GPU, on the CPU: what other libraries take is where the kernels have left it."""
    from functools import partial

    from simcli.kernels.device import dlpack
    from simcli.simulation import process

    monkeypatch.setattr(process, "start_device", partial(process.start_device, like_gpu=True))
    (tmp_path / "arm.yaml").write_text(ARM.replace("TARGET", "0.5").replace("EFFORT", "constant: 0.3"))
    names = (
        "joint.elbow.q",
        "joint.pin.qd",
        "body.lower.orientation",
        "body.lower.velocity",
        "energy.total",
        "point.lower/tip.velocity",
    )
    with opened(tmp_path / "arm.yaml", worlds=5) as sim:
        assert sim.device.is_gpu
        sim.step(10, control={"pin": np.arange(5) * 0.1})
        for name in names:
            copy, view = sim.get(name), sim.get(name, dlpack=True)
            found = np.from_dlpack(view)
            assert found.shape == copy.shape, name
            assert np.array_equal(found, copy), name
            again = np.from_dlpack(sim.get(name, dlpack=True))
            assert again.__array_interface__["data"][0] == found.__array_interface__["data"][0]
        assert dlpack._handed_out
        del found, again, view
        assert not dlpack._handed_out
        sim.get("energy.total", dlpack=True).__dlpack__()  # which nobody takes
        assert not dlpack._handed_out
        with pytest.raises(UsageError, match="has no array on the device"):
            sim.get("diag.status", dlpack=True)
        with pytest.raises(BufferError, match="without a copy"):
            sim.get("joint.pin.q", dlpack=True).__dlpack__(copy=True)
    from simcli.kernels.device.runtime import stop_device

    stop_device()


class Lent:
    """An array that offers nothing but DLPack, as of a library that is not numpy."""

    def __init__(self, array):
        self.array = np.array(array)

    def __dlpack__(self, **named):
        return self.array.__dlpack__(**named)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_masks_are_read_as_those_of_a_gpu_are(monkeypatch):
    """By what the protocol says of a type, which numpy does not for us there."""
    from simcli.kernels.device.dlpack import lent_array

    for values in (np.array([True, False]), np.array([3], np.uint8), np.array([[1.5]], np.float32)):
        lent = lent_array(Lent(values))
        assert (lent.dtype, lent.shape) == (values.dtype, values.shape)
    with pytest.raises(BufferError, match="numpy has no numbers of its type, 5 of the protocol"):
        lent_array(Lent(np.array([1j])))


LIMITED = """
simcli: 1
bodies: {b: {mass: 1.0, com: [0.3, 0, 0], inertia: {diag: [0.1, 0.1, 0.1]}}}
joints: {h: {type: revolute, parent: world, child: b, axis: [0, 1, 0], damping: 0.1,
             limit: {lower: -1.0, upper: 1.0, stiffness: 50.0, damping: 1.0}}}
solver: {dt: 0.01}
run: {duration: 1.0}
"""


def test_parameters_of_a_file_are_restored_together(tmp_path):
    """One after the other they would not be a scene: the new lower limit is above the old upper one."""
    (tmp_path / "limited.yaml").write_text(LIMITED)
    limit = "joints.h.limit"
    given = {"worlds": 2, "vary": ["joints.h.damping", f"{limit}.lower", f"{limit}.upper"]}
    with opened(tmp_path / "limited.yaml", **given) as sim, opened(tmp_path / "limited.yaml", **given) as other:
        for path, value in (("joints.h.damping", 0.7), (f"{limit}.upper", 5.0), (f"{limit}.lower", 2.0)):
            sim.set(path, value)
        sim.step(3)
        sim.save(tmp_path / "snapshot.h5")
        other.restore(tmp_path / "snapshot.h5")
        for path in given["vary"]:
            assert np.array_equal(sim.get(path), other.get(path))
        for one in (sim, other):
            one.step(20)
        assert not same(fresh(sim), fresh(other))


ARM_SCENE = ARM.replace("TARGET", "0.5").replace("EFFORT", "constant: 0.3")


@pytest.mark.parametrize("like_gpu", [False, True])
def test_arrays_of_others_are_taken(tmp_path, monkeypatch, like_gpu):
    """On a GPU, whose memory is on the CPU here: controls stay there, and the host learns of them where it asks."""
    from functools import partial

    from simcli.kernels.device.runtime import stop_device
    from simcli.simulation import controls, process

    stop_device()
    if like_gpu:
        monkeypatch.setattr(process, "start_device", partial(process.start_device, like_gpu=True))
    (tmp_path / "arm.yaml").write_text(ARM_SCENE)
    draw, given = np.random.default_rng(4), {"worlds": 5, "vary": ["joints.pin.damping"]}
    with opened(tmp_path / "arm.yaml", **given) as sim, opened(tmp_path / "arm.yaml", **given) as plain:
        for k in range(4):
            target, effort = draw.normal(size=5), draw.normal(size=(5, 1))
            plain.step(3, control={"pin": target, "elbow": effort})
            with monkeypatch.context() as patch:
                if like_gpu:  # nothing goes over the host
                    patch.setattr(controls, "fitting_numbers", None)
                sim.step(3, control={"pin": Lent(target), "elbow": Lent(effort)})
            assert not same(fresh(sim), fresh(plain)), k
        kept = sim.save()
        assert kept.controls.tolist() == plain.save().controls.tolist()
        for one, wrapped in ((sim, Lent), (plain, np.asarray)):
            one.step(1, control={"pin": wrapped(np.arange(5.0)), "elbow": 0.25})
            one.set("joints.pin.damping", wrapped([0.1, 0.2]), worlds=wrapped([1, 3]))
            some = wrapped([True, False, True, True, False])
            one.set({"joint.pin.q": wrapped(np.linspace(0, 0.4, 3)[:, None])}, worlds=some)
            one.reset(wrapped([4]))
            one.step(2, control={"elbow": wrapped(np.float32([[0.5], [1], [2], [3], [4]]))})
        assert not same(fresh(sim), fresh(plain))
        for wrong, words in (
            (np.array([0, 1, np.nan, 0, np.inf]), "the value for world 2 is not finite"),
            (np.zeros(4), r"values of shape \(4,\) do not fit"),
        ):
            with pytest.raises(UsageError, match=f"control of `pin`: {words}"):
                sim.step(1, control={"elbow": Lent(np.ones(5)), "pin": Lent(wrong)})
        assert not same(fresh(sim), fresh(plain))
        sim.restore(kept)
        sim.step(2)
        first = fresh(sim)
        sim.restore(kept)
        sim.step(2)
        assert not same(fresh(sim), first)
    stop_device()


def test_quaternions_of_all_joints_are_normed(tmp_path):
    """Every type of a tree whose coordinates end with a quaternion: what is set is the direction of the four numbers."""
    others = {*RIBLE, *NONHOLONOMIC}  # and wheels, whose places a plane decides
    kinds = [name for name, one in COORDINATES_OF.items() if one in IN_A_TREE and has_quaternion(one) and name not in others]
    assert set(kinds) == {"ball", "free", "distance"}
    keys = {"distance": ", length: 1, parent_frame: {xyz: [0, 0, 1]}, child_frame: {}"}
    bodies = ", ".join(f"{kind}: {{mass: 1, inertia: {{diag: [1, 1, 1]}}}}" for kind in kinds)
    joints = "".join(f"  {kind}: {{type: {kind}, parent: world, child: {kind}{keys.get(kind, '')}}}\n" for kind in kinds)
    (tmp_path / "scene.yaml").write_text(f"simcli: 1\nbodies: {{{bodies}}}\njoints:\n{joints}run: {{duration: 0.01}}\n")
    with opened(tmp_path / "scene.yaml") as sim:
        for kind in kinds:
            place = [] if kind == "ball" else [0.0, 0.6, -0.8]
            sim.set(f"joint.{kind}.q", [*place, 0, 0, 3, 4])
            np.testing.assert_allclose(sim.get(f"joint.{kind}.q")[0], [*place, 0, 0, 0.6, 0.8], atol=1e-12)


TOUCHING = """
simcli: 1
params: {u: 0.7, e: 0.1, roll: 0.0}
materials: {m: {density: 800, friction: 0.5, restitution: "${e}", rolling_friction: "${roll}"}}
world:
  shapes:
    land: {type: heightfield, size: [4, 4, 0.4], material: m,
           data: [[0, 0.2, 0.1, 0.4], [0.3, 0.5, 0.2, 0.1], [0.1, 0.2, 0.7, 0.3], [0, 0.1, 0.2, 0.3]]}
bodies:
  stone: {pose: {xyz: [0.1, 0.1, 0.5]}, velocity: {linear: ["${u}", 0.2, -1]},
          shapes: {s: {type: mesh, file: tet.obj, material: m}}}
  ball: {pose: {xyz: [-0.7, 0.6, 0.47]}, velocity: {linear: ["${u}", 0, -1]},
         shapes: {s: {type: sphere, radius: 0.1, material: m}}}
  box: {pose: {xyz: [0.7, -0.6, 0.5]}, velocity: {linear: [0, "${u}", -1]},
        shapes: {s: {type: box, size: [0.2, 0.2, 0.2], material: m}}}
solver: {type: SOLVER, integrator: INTEGRATOR, dt: 2 ms, precision: PRECISION}
run: {duration: 0.3}
output: {every: 0.01, channels: [state, contacts, energy]}
"""
BARRED = TOUCHING.replace('friction: 0.5, restitution: "${e}"', 'friction: "${0.4 + e}"')  # contact that does not bounce
TET = "v 0 0 0.2\nv 0.2 0 -0.1\nv -0.1 0.17 -0.1\nv -0.1 -0.17 -0.1\nf 1 2 3\nf 1 3 4\nf 1 4 2\nf 2 4 3\n"
SWUNG = """
simcli: 1
params: {u: 0.7, e: 0.1, roll: 0.0}
defaults: {body: {inertia: {diag: [0.01, 0.02, 0.015]}, mass: 1}, joint: {type: revolute, axis: [0, 1, 0]}}
bodies:
  crank: {pose: {xyz: [0.1, 0, 0]}}
  rod: {pose: {xyz: [0.4, 0, 0]}}
  slider: {pose: {xyz: [0.6, 0, 0]}}
  arm: {com: [0.5, 0, 0]}
joints:
  pin: {parent: world, child: crank, at: [0, 0, 0], qd: "${4 + 2 * u}", drive: {mode: effort, target: $u}}
  knee: {parent: crank, child: rod, at: [0.2, 0, 0], damping: "${e}"}
  wrist: {parent: rod, child: slider, at: [0.6, 0, 0]}
  rail: {type: prismatic, parent: world, child: slider, at: [0.6, 0, 0], axis: [1, 0, 0], loop: true}
  hinge: {parent: world, child: arm, at: [0, 5, 3], q: "${0.05 * e}", qd: "${-u}"LAWS}
sensors: {e: {type: tachometer, joint: pin}}
signals: {u: {expression: "-0.5*({sensor.e.tachometer} - 6) + {joint.rail.q}"}}
solver: {type: SOLVER, integrator: INTEGRATOR, dt: 2 ms, precision: PRECISION}
run: {duration: 0.3}
output: {every: 0.01, channels: [state, energy]}
"""
LAWS = (
    ', limit: [-0.35, 1], friction: "${roll}", drive: {mode: position, target: 0.5, stiffness: 5, damping: 1, '
    "effort_limit: 2}"
)
SMOOTH = ', drive: {mode: position, target: 0.5, stiffness: 5, damping: "${roll}"}'
NAMES = "u", "e", "roll"
# Of worlds: first those that are looked at, then all kinds of neighbours, of which the last one fails. A world that
# lacks what its neighbours have differs in roundings: without a damper a mechanism has fewer equations.
SEEN = [(0.7, 0.2, 0.004), (0.1, 0.6, 0.01)]
OTHERS = [(1.2, 0.0, 0.0), (0.3, 0.3, 0.0), (1.9, 0.0, 0.02), (-0.8, 0.9, 0.001), (0.71, 0.0, 0.0), (1e7, 0.0, 0.0)]
BATCHES = [SEEN[:1], SEEN[1:], [*SEEN, *OTHERS[:3]], [OTHERS[4], SEEN[0], OTHERS[5], OTHERS[3], OTHERS[1], *SEEN[::-1]]]
WORLDS_AMONG_OTHERS_CASES = {
    **{f"touching-generalized-{name}": (TOUCHING, "generalized", name) for name in STAGES},
    "touching-maximal-semi_implicit": (TOUCHING, "maximal", "semi_implicit"),
    "touching-natural-moreau": (TOUCHING, "natural", "moreau"),
    **{f"touching-affine-{name}": (BARRED, "affine", name) for name in STEPS},
    **{f"swung-generalized-{name}": (SWUNG.replace("LAWS", LAWS), "generalized", name) for name in STAGES},
    "swung-maximal-semi_implicit": (SWUNG.replace("LAWS", LAWS), "maximal", "semi_implicit"),
    "swung-natural-moreau": (SWUNG.replace("LAWS", LAWS), "natural", "moreau"),
    "swung-natural-zhong06": (SWUNG.replace("LAWS", LAWS), "natural", "zhong06"),
    "smooth-natural-zhong06": (SWUNG.replace("LAWS", SMOOTH), "natural", "zhong06"),
    "smooth-natural-generalized_alpha": (SWUNG.replace("LAWS", SMOOTH), "natural", "generalized_alpha"),
    **{f"swung-affine-{name}": (SWUNG.replace("LAWS", LAWS), "affine", name) for name in STEPS},
}


def columns_of(folder, text, worlds, precision):
    """All columns of a run of some worlds."""
    path = folder / "scene.yaml"
    lists = ", ".join(f"params.{name}: {{list: {[world[k] for world in worlds]}}}" for k, name in enumerate(NAMES))
    path.write_text(f"{text}batch: {{vary: {{{lists}}}}}\n")
    (folder / "tet.obj").write_text(TET)
    job = prepare(Request(path, tries_all=True))
    plan = RunPlan(job.schedule.dt, job.schedule.steps_per_frame, job.schedule.n_frames, job.channels)
    solver = SOLVERS[job.spec.solver.type](job.model, job.spec.solver, plan, live_device(precision), job.phases)
    blocks = [solver.initial()]
    while sum(len(block.step) for block in blocks) <= plan.n_frames:
        blocks.append(solver.advance(plan.n_frames))
    return {name: np.concatenate([block.columns[name] for block in blocks]) for name in blocks[0].columns}


# In the default run: what worlds remember of contacts that are off, and feedback in float32.
DEFAULT = {
    ("touching-natural-moreau", "float64"),
    ("smooth-natural-generalized_alpha", "float32"),
    ("smooth-natural-zhong06", "float32"),
}


@pytest.mark.parametrize(
    ("case", "precision"),
    [
        pytest.param(case, precision, marks=[pytest.mark.slow] * ((case, precision) not in DEFAULT))
        for case in WORLDS_AMONG_OTHERS_CASES
        for precision in ("float64", "float32")
        if precision == "float64" or not case.startswith("touching-affine")  # which is refused
    ],
)
def test_a_world_does_not_see_its_neighbours(case, precision, tmp_path):
    text, solver, integrator = WORLDS_AMONG_OTHERS_CASES[case]
    for word, value in (("SOLVER", solver), ("INTEGRATOR", integrator), ("PRECISION", precision)):
        text = text.replace(word, value)
    if (integrator, precision) == ("generalized_alpha", "float32"):  # which does not converge from 0.17 s on
        text = text.replace("duration: 0.3", "duration: 0.15")
    found = [columns_of(tmp_path, text, worlds, precision) for worlds in BATCHES]
    for world in SEEN:
        first, *others = [
            {name: np.ascontiguousarray(column[:, worlds.index(world)]) for name, column in columns.items()}
            for worlds, columns in zip(BATCHES, found, strict=True)
            if world in worlds
        ]
        assert not first["diag/status"].any()
        for other in others:
            differing = [name for name, column in first.items() if column.tobytes() != other[name].tobytes()]
            assert not differing, world


SCENE = """
simcli: 1
bodies:
  a: {mass: 1, com: [0.5, 0, 0], inertia: {diag: [0.01, 0.1, 0.1]}}
  b: {pose: {xyz: [0, 1, 0]}, mass: 1, com: [0.5, 0, 0], inertia: {diag: [0.01, 0.1, 0.1]}}
  c: {pose: {xyz: [0, 2, 0]}, mass: 1, com: [0.5, 0, 0], inertia: {diag: [0.01, 0.1, 0.1]}}
  d: {pose: {xyz: [0, 3, 0]}, mass: 1, com: [0.5, 0, 0], inertia: {diag: [0.01, 0.1, 0.1]}}
  e: {pose: {xyz: [0, 4, 0]}, mass: 1, com: [0.5, 0, 0], inertia: {diag: [0.01, 0.1, 0.1]}}
joints:
  a: {type: revolute, parent: world, child: a, axis: [0, 1, 0], q: 0.2, drive: {mode: effort, target: $push}}
  b: {type: revolute, parent: world, child: b, axis: [0, 1, 0], q: 0.2, drive: {mode: effort, target: $pid}}
  c: {type: revolute, parent: world, child: c, axis: [0, 1, 0], q: 0.2, drive: {mode: effort, target: $late}}
  d: {type: revolute, parent: world, child: d, axis: [0, 1, 0], q: 0.2, drive: {mode: effort, target: $slow}}
  e: {type: revolute, parent: world, child: e, axis: [0, 1, 0], motion: {position: $wave}}
signals:
  push: {table: {time: [0, 0.01, 0.03, 0.05], value: [0, 3, -2, 1]}}
  wave: {sine: {amplitude: 0.3, frequency: 20}}
  pid: {pid: {input: "{joint.b.q}", target: "{signal.aim}", kp: 60, ki: 40, kd: 5}}
  aim: {filter: {input: "0.1 + {signal.push}/100", time_constant: 0.01}}
  more: {constant: 0}
  late: {expression: "{signal.more} + 30*(0.1 - {joint.c.q}) - 5*{joint.c.qd}", delay: 0.004}
  slow: {expression: "30*(0.1*sin(40*t) - {joint.d.q}) - 5*{sensor.turning.tachometer}", rate: 100 Hz, delay: 0.01}
sensors:
  turning: {type: tachometer, joint: d, noise: {density: 0.01, walk: 0.01, quantum: 1e-4, rate: 250 Hz, delay: 0.004}}
measure:
  top: {max: joint.a.q}
  mean: {mean: joint.b.q}
  part: {std: joint.c.qd, from: 0.01, until: 0.025}
  first: {first: joint.a.qd, below: 0}
events:
  - {when: {joint.a.qd: {above: 0.1}}, set: {signals.more.constant: 0.5}}
  - {at: 0.008, set: {joints.b.damping: 0.4, world.gravity: [0, 0, -5]}}
  - {at: 0.0175, set: {joints.b.damping: 0.1}}
solver: {type: generalized, dt: 1.0e-3}
run: {duration: 0.04}
output: {every: 0.01, channels: [state, energy], quantities: [sensor.turning.tachometer]}
"""
AGES_QUICK = {("generalized", "semi_implicit"), ("affine", "bdf2")}


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    path = tmp_path_factory.mktemp("ages") / "timed.yaml"
    path.write_text(SCENE)
    return path


def measured(sim, worlds=slice(None)):
    """Values and times of what was measured, of some worlds."""
    return [one[worlds].copy() for one in sim._solver.measured()]


CASES_OF_TIME = [(*case, "float64") for case in CASES if case[1] != "generalized_alpha"] + [
    ("generalized", "implicit", "float32")
]


@pytest.mark.parametrize(
    ("solver", "integrator", "precision"),
    [pytest.param(*case, marks=() if case[:2] in AGES_QUICK else (pytest.mark.slow,)) for case in CASES_OF_TIME],
)
def test_worlds_begin_at_any_time_to_the_bytes_of_a_run(scene, tmp_path, solver, integrator, precision):
    sets = (f"solver.type={solver}", f"solver.integrator={integrator}", f"solver.precision={precision}", "batch.worlds=5")
    wanted = run(scene, tmp_path / "run.h5", *sets)
    with opened(scene, *sets, controls=()) as sim, opened(scene, *sets, controls=()) as whole:
        start, found, numbers = fresh(whole), [], []
        for _ in range(4):
            whole.step(10)
            found.append(fresh(whole))
            numbers.append(measured(whole))
        for path in ("frames/joint_q", "frames/joint_qd", "frames/quantity", "frames/body_q"):
            for k, one in enumerate([start, *found]):
                assert np.array_equal(one[path][0], wanted[path][k], equal_nan=True), (path, k)
        sim.step(13)
        sim.reset([1, 4], episode=0)
        assert not same(fresh(sim), start, [1, 4])
        sim.step(7)
        assert not same(fresh(sim), found[1], [0, 2, 3])  # they do not notice
        sim.reset([2], episode=0)
        sim.step(3)
        assert not same(fresh(sim), found[0], [1, 4])
        sim.step(7)
        assert not same(fresh(sim), found[0], [2])
        sim.step(10)
        assert not same(fresh(sim), found[1], [2])
        assert not same(fresh(sim), found[3], [0, 3])
        assert all(map(np.array_equal, measured(sim, [2]), [one[[2]] for one in numbers[1]], [True] * 2))
        sim.step(3)
        assert not same(fresh(sim), found[2], [1, 4])
        assert all(map(np.array_equal, measured(sim, [1, 4]), [one[[1, 4]] for one in numbers[2]], [True] * 2))
        assert np.abs(sim.age - [0.043, 0.03, 0.023, 0.043, 0.03]).max() < 1e-9
        sim.reset(np.ones(5, bool), episode=0)
        sim.step(20)
        assert not same(fresh(sim), found[1])
        sim.reset(episode=0)
        assert sim.time == 0.0
        sim.step(20)
        assert not same(fresh(sim), found[1])


def test_noise_is_that_of_the_episode(scene):
    with opened(scene, worlds=5) as sim:
        read = lambda: sim.get("sensor.turning.tachometer").ravel().copy()  # noqa: E731
        first = read()
        sim.step(4)
        later = read()
        sim.reset([1, 3])
        assert sim.episode.tolist() == [0, 1, 0, 1, 0]
        second = read()
        assert (second[[1, 3]] != first[[1, 3]]).all()
        sim.reset([1], episode=0)
        assert read()[1] == first[1]
        sim.step(4)
        assert read()[1] == later[1]
        sim.reset([1], episode=1)
        assert read()[1] == second[1]
        sim.set("joint.d.q", 0.3, worlds=[1])  # where it has just begun: the same episode
        assert read()[1] == second[1]
        sim.step(1)
        sim.set("joint.d.q", 0.3, worlds=[1, 4])
        assert sim.episode.tolist() == [0, 2, 0, 1, 1]
        kept = sim.save()
        sim.reset()
        assert sim.episode.tolist() == [1, 3, 1, 2, 2]
        assert read()[0] != first[0]
        sim.restore(kept)
        assert sim.episode.tolist() == [0, 2, 0, 1, 1]
        sim.reset(episode=0)
        assert np.array_equal(read(), first)


def test_worlds_that_are_put_begin_with_age_zero(scene):
    q = [0.3, -0.1]
    with opened(scene, worlds=5) as sim, opened(scene, worlds=5) as other:
        other.set({"joint.b.q": [[0.3]] * 5, "joint.b.qd": 0.0, "joint.c.q": -0.1, "joint.c.qd": 0.0})
        sim.step(17)
        every = {f"joint.{name}.{one}": 0.2 * (one == "q") for name in "ad" for one in ("q", "qd")}
        sim.reset([1, 2], episode=0)
        sim.set({**every, "joint.b.q": q[0], "joint.b.qd": 0.0, "joint.c.q": q[1], "joint.c.qd": 0.0}, worlds=[1, 2])
        assert np.array_equal(sim.age[[0, 1]], [0.017, 0.0])
        sim.step(30)
        other.step(30)
        assert not same(fresh(sim), fresh(other), [1, 2])


def test_events_are_told_by_the_clock(scene, tmp_path):
    with opened(scene, worlds=3) as sim:
        sim.step(40)
        told = [(event.step, event.world) for event in sim.events if event.code == "SC606"]
        at = [step for step, world in told if world == 1]
        assert sorted(told) == sorted([*((at[0], world) for world in range(3)), (8, -1), (18, -1)])
        sim.reset([1], episode=0)
        sim.step(40)
        again = [(event.step, event.world) for event in sim.events if event.code == "SC606"][len(told) :]
        assert sorted(again) == [(40 + step, 1) for step in sorted((8, 18, at[0]))]


@pytest.mark.parametrize("every", [2, 3, 40])
def test_worlds_in_many_packs_begin_and_others_do_not_notice(scene, every):
    """Packs that the host keeps, and those that a kernel keeps: up to 50 of them, of two worlds each."""
    some = np.arange(101) % every == 0
    with opened(scene, worlds=101) as sim, opened(scene, worlds=101) as whole:
        for one in (sim, whole):
            one.step(13)
        sim.reset(some, episode=0)
        assert not same(fresh(sim), fresh(whole), ~some)
        sim.step(9)
        whole.step(9)
        assert not same(fresh(sim), fresh(whole), ~some)
        whole.reset(episode=0)
        whole.step(9)
        assert not same(fresh(sim), fresh(whole), some)


PARAMETERS_SCENE = """
simcli: 1
bodies:
  a: {mass: 1, com: [0.5, 0, 0], inertia: {diag: [0.01, 0.1, 0.1]}}
  b: {pose: {xyz: [1, 0, 0]}, mass: 1, com: [0.5, 0, 0], inertia: {diag: [0.01, 0.1, 0.1]}}
joints:
  a: {type: revolute, parent: world, child: a, axis: [0, 1, 0], q: 0.2, damping: 0.02, limit: {lower: -2, upper: 2}}
  b:
    {type: revolute, parent: a, child: b, axis: [0, 1, 0], q: 0.2,
     drive: {mode: position, target: 0.4, stiffness: 20, damping: 1}}
world: {gravity: [0, 0, -9.81]}
solver: {type: generalized, dt: 1.0e-3}
run: {duration: 0.2}
output: {channels: [state, energy]}
"""
VARIED = ["joints.a.damping", "joints.b.drive.stiffness", "world.gravity", "joints.a.limit.upper"]
LEDGER = ("energy/input", "energy/drift")  # to rounding, where tables of other worlds are moved, too
PARAMETERS_QUICK = (("generalized", "semi_implicit"),)


@pytest.fixture(scope="module")
def scene_of_parameters(tmp_path_factory):
    path = tmp_path_factory.mktemp("set") / "arm.yaml"
    path.write_text(PARAMETERS_SCENE)
    return path


def written(sim, path):
    """Whether the next numbers of a path, among those before, are written where they stand."""
    return sim._parameters._columns[path].has(sim._parameters.values[path])


@pytest.mark.parametrize(
    ("solver", "integrator"),
    [pytest.param(*case, marks=() if case in PARAMETERS_QUICK else (pytest.mark.slow,)) for case in CASES],
)
def test_what_is_written_is_what_is_built(scene_of_parameters, monkeypatch, solver, integrator):
    sets = (f"solver.type={solver}", f"solver.integrator={integrator}")
    if integrator == "generalized_alpha":
        sets = (*sets, "joints.a.limit=null", "joints.b.drive.stiffness=20")
    varied = VARIED[:3]
    found = []
    for built_anew in (False, True):
        with opened(scene_of_parameters, *sets, worlds=5, vary=varied) as sim:
            if built_anew:
                monkeypatch.setattr(ParameterColumns, "has", lambda self, values: False)
            draw = np.random.default_rng(3)
            sim.set("joints.a.damping", np.linspace(0.01, 0.5, 5))
            sim.set("joints.b.drive.stiffness", np.linspace(60, 10, 5))
            sim.set("world.gravity", np.linspace([-1, -1, -10.0], [1, 1, -1], 5))
            if not built_anew:
                assert written(sim, "joints.a.damping")
                assert written(sim, "joints.b.drive.stiffness")
            for _ in range(3):
                sim.step(4)
                sim.set("joints.a.damping", draw.uniform(0.01, 0.5, 5))
                sim.set("joints.b.drive.stiffness", draw.uniform(10, 60, 5))
                sim.set("world.gravity", draw.uniform([-1, -1, -9], [1, 1, -2], (5, 3)))
            sim.set("joints.a.damping", [0.3, 0.4], worlds=[1, 4])
            assert np.array_equal(sim.get("joints.a.damping")[[1, 4], 0], [0.3, 0.4])
            sim.set("joints.a.damping", [0.0, 0.1, 0.2, 0.0, 0.3])
            sim.step(4)
            found.append(fresh(sim))
            sim.reset()
            sim.step(4)
            found.append(fresh(sim))
    for one, other in ((0, 2), (1, 3)):
        assert not same(found[one], found[other], but=LEDGER)
        for path in LEDGER:
            assert np.abs(found[one][path] - found[other][path]).max() < 1e-13


def test_what_was_never_checked_is_built(scene_of_parameters):
    with opened(scene_of_parameters, worlds=3, vary=VARIED) as sim:
        sim.set("joints.a.damping", [0.1, 0.2, 0.3])
        sim.step(2)
        before = fresh(sim)
        with pytest.raises(SceneError):
            sim.set("joints.a.damping", [0.1, -0.2, 0.3])
        with pytest.raises(SceneError, match="target"):
            sim.set("joints.b.drive.stiffness", [1, 0, 2])  # a target without stiffness
        with pytest.raises(SceneError):
            sim.set("joints.a.limit.upper", [1, -3, 2])  # below the lower one
        assert not same(fresh(sim), before)
        sim.set("joints.a.limit.upper", [0.01, 2, 2])  # beyond which the joint is
        assert sim.status.tolist() == [8, 0, 0] or sim.failures
        assert not written(sim, "joints.a.limit.upper")


KINDS_SCENE = """
simcli: 1
materials: {m: {friction: 0.5}}
signals:
  line: {table: {time: [0, 0.1, 0.2], value: [0.1, 0.2, 0.3]}}
  curve: {table: {time: [0, 0.1, 0.2], value: [0.1, 0.2, 0.3], interpolate: cubic}}
  jump: {step: {time: 0.1, before: 0, after: 1}}
  still: {constant: 0.3}
  wave: {sine: {amplitude: 0.2, frequency: 1}}
world: {gravity: [0, 0, -9.81], shapes: {ground: {type: plane, material: m, pose: {xyz: [0, 0, -5]}}}}
bodies:
  a: {mass: 1, com: [0.5, 0, 0], inertia: {diag: [0.01, 0.1, 0.1]}}
  b:
    {pose: {xyz: [1, 0, 0]}, mass: 1, com: [0.5, 0, 0], inertia: {diag: [0.01, 0.1, 0.1]},
     shapes: {tip: {type: sphere, radius: 0.1, material: m}}}
  c: {pose: {xyz: [0, 3, 0]}, mass: 1, inertia: {diag: [0.1, 0.1, 0.1]}, gravity_compensation: 0.5}
joints:
  a:
    {type: revolute, parent: world, child: a, axis: [0, 1, 0], q: 0.2, damping: 0.02, friction: 0.1, armature: 0.01,
     limit: {lower: -2, upper: 2, stiffness: 100, damping: 1}}
  b:
    {type: revolute, parent: a, child: b, axis: [0, 1, 0], q: 0.2, velocity_limit: 50,
     drive: {mode: position, target: 0.4, stiffness: 20, damping: 1, effort_limit: 40}}
  c:
    {type: prismatic, parent: world, child: c, at: [0, 3, 0], axis: [0, 0, 1],
     drive: {mode: velocity, target_velocity: 0.1, damping: 5}}
forces:
  cord: {type: spring, a: {world: [0, 3, 2]}, b: {body: c, at: [0, 0, 0.1]}, stiffness: 5, damping: 1, rest_length: 1}
  push: {type: wrench, body: c, force: [$line, $curve, $still]}
  more: {type: wrench, body: c, force: [$jump, $wave, 0.1], torque: [0.1, 0, 0]}
contact: {pairs: [{a: ground, b: b/tip, friction: 0.4}]}
solver: {type: generalized, dt: 1.0e-3}
run: {duration: 0.2}
"""
KINDS_OF_PATHS = (
    "world.gravity",
    "world.gravity[0]",
    "bodies.c.gravity_compensation",
    *(
        f"joints.a.{key}"
        for key in ("damping", "friction", "armature", "limit.lower", "limit.upper", "limit.stiffness", "limit.damping")
    ),
    *(f"joints.b.drive.{key}" for key in ("target", "stiffness", "damping", "effort_limit")),
    "joints.b.velocity_limit",
    "joints.c.drive.target_velocity",
    "joints.c.drive.damping",
    *(f"forces.cord.{key}" for key in ("stiffness", "damping", "rest_length")),
    "forces.more.torque",
    "forces.more.force[2]",
    "signals.line.table.value",
    "signals.line.table.value[1]",
    "signals.curve.table.value[1]",
    "signals.jump.step.time",
    "signals.jump.step.after",
    "signals.still.constant",
    "signals.wave.sine.amplitude",
    "signals.wave.sine.frequency",
    "contact.pairs[0].friction",
)


def numbers_to_try(values):
    """Of three worlds: others, zeros in all and in one, all alike, and from far away."""
    one = values.astype(float)
    some = one * 1.1
    some[1] = 0.0
    return [one * np.linspace(1.1, 1.3, 3).reshape(3, *[1] * (one.ndim - 1)), one * 0.0, some, one * 1.2, one * 40, -one]


def rooms(job, path):
    """For a path that may be set: what gives the model with other values, and the stepper that has to take its tables."""
    from dataclasses import replace

    from simcli.model.phases import Phase
    from simcli.model.signals.controlled import with_controls
    from simcli.pipeline.execution import solver_of
    from simcli.simulation.parameters import Parameters
    from simcli.solvers.run.solver import MANY_STEPS

    parameters = Parameters(job, (path,), ())
    model, other = parameters.laid_out(with_controls(job.model, ()))
    solver = solver_of(replace(job, model=model, phases=(Phase(MANY_STEPS, other, ()),)), live_device(), by_age=True)
    takes = lambda found: solver.takes(solver.formed(found))  # noqa: E731
    return parameters.values[path], lambda values: parameters.model_with({path: values}, model, takes)


@pytest.mark.slow
@pytest.mark.parametrize("solver", SOLVERS)
def test_there_is_room_for_whatever_is_set(tmp_path, solver):
    path, n_taken, refused = tmp_path / "kinds.yaml", {}, []
    path.write_text(KINDS_SCENE.replace("type: generalized", f"type: {solver}"))
    job = prepare(Request(path, None, ("batch.worlds=3",), "cpu", 1))
    for name in KINDS_OF_PATHS:
        before, model_with = rooms(job, name)
        for values in numbers_to_try(before):
            try:
                model_with(values)
                n_taken[name] = n_taken.get(name, 0) + 1
            except (SceneError, UsageError) as error:
                refused.append((name, str(error)))
    assert not [name for name, text in refused if "no memory was laid out" in text]
    assert min(n_taken.get(name, 0) for name in KINDS_OF_PATHS) >= 2, n_taken


@pytest.mark.parametrize("start", [0.0, 0.4])
def test_friction_of_barriers_comes_and_goes(tmp_path, start):
    path = tmp_path / "kinds.yaml"
    path.write_text(KINDS_SCENE.replace("type: generalized", "type: affine"))
    job = prepare(Request(path, None, ("batch.worlds=3", f"contact.pairs[0].friction={start}"), "cpu", 1))
    _, model_with = rooms(job, "contact.pairs[0].friction")
    for values in ([0.2, 0.2, 0.2], [0.0, 0.0, 0.0], [0.1, 0.0, 0.3]):
        assert np.array_equal(np.unique(model_with(np.array(values)).contacts.friction), np.unique([*values]))


def test_what_there_is_no_room_for_is_refused_by_name(scene_of_parameters, monkeypatch):
    from simcli.simulation.parameters import Parameters

    monkeypatch.setattr(Parameters, "laid_out", lambda self, model: (model, None))  # as if nothing depended on it
    with opened(scene_of_parameters, worlds=3, vary=["joints.a.damping"]) as sim:
        sim.step(2)
        before = fresh(sim)
        with pytest.raises(UsageError, match=r"set `joints.a.damping`: no memory was laid out .* sets=\['joints.a.damping="):
            sim.set("joints.a.damping", [0.1, 0.2, 0.3])
        assert np.unique(sim.get("joints.a.damping")).tolist() == [0.02]
        assert not same(fresh(sim), before)


def test_what_worlds_have_in_common_is_no_parameter(tmp_path):
    path = tmp_path / "kinds.yaml"
    path.write_text(KINDS_SCENE)
    for name, words in {
        "contact.enabled": "`contact.enabled` .* let an event of the scene set it",
        "joints.a.limit": "`joints.a.limit` is no number",
    }.items():
        with pytest.raises(UsageError, match=f"vary: {words}"):
            opened(path, "contact.enabled=true", worlds=2, vary=[name])


LOCKS = """
simcli: 1
bodies: {arm: {mass: 1, com: [0.3, 0, 0], inertia: {diag: [0.05, 0.05, 0.05]}}}
joints:
  hinge: {type: revolute, parent: world, child: arm, axis: [0, 1, 0],
          driving: {aim_angle: 0, is_constrained: true, is_passive: PASSIVE, is_locked: LOCKED, stiffness: 40}}
solver: {type: affine, dt: 5 ms}
run: {duration: 1}
"""


def test_flags_that_bar_each_other_are_varied_together(tmp_path):
    """Each world moves as one in which the flags of all are its own; a contradiction is refused, and changes nothing."""
    paths = [f"joints.hinge.driving.{key}" for key in ("is_passive", "is_locked")]
    masks = {paths[0]: [True, False, False, False], paths[1]: [False, True, False, True]}
    (tmp_path / "locks.yaml").write_text(LOCKS.replace("PASSIVE", "false").replace("LOCKED", "false"))
    with opened(tmp_path / "locks.yaml", worlds=4, vary=paths) as sim:
        sim.step(20)
        for path, mask in masks.items():
            sim.set(path, mask)
            assert sim.get(path).tolist() == mask
        with pytest.raises(SceneError, match="contradict each other"):
            sim.set(paths[1], [True, False, False, False])
        assert sim.get(paths[1]).tolist() == masks[paths[1]]
        sim.step(20)
        found = sim.get("joint.hinge.q").ravel()
        assert found[1] == found[3]
        for world, (passive, locked) in enumerate(zip(*masks.values(), strict=True)):
            with opened(tmp_path / "locks.yaml", worlds=1, vary=paths) as alone:
                alone.step(20)
                alone.set(paths[0], passive)
                alone.set(paths[1], locked)
                alone.step(20)
                assert alone.get("joint.hinge.q").ravel()[0] == found[world]
    assert len({round(q, 6) for q in found.tolist()}) == 3
    (tmp_path / "free.yaml").write_text(LOCKS.replace("type: affine", "type: generalized").replace("PASSIVE", "false"))
    with pytest.raises(SceneError, match="SC501"):
        opened(tmp_path / "free.yaml", "joints.hinge.driving.is_locked=true", vary=paths)
