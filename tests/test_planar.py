"""Planar scenes in generalized coordinates: bodies move in the plane, whichever it is, as their spatial twins do."""

import json
import re

import numpy as np
import pytest
from support.forward import Runner
from support.scenes import scene
from support.solver_modes import MODES

from simcli import rotations as rot
from simcli.errors import SceneError
from simcli.model import build
from simcli.model.constraints.build import constraints_of
from simcli.model.describe import freedom
from simcli.model.tables.model import JointKind
from simcli.spec import resolve, resolved_yaml
from simcli.spec.lookup import scene_values
from simcli.spec.resolve import warnings

EXACT = 1e-12
PLANES = ("xy", "xz", "yz")


def place(plane, x, y, z=0.0):
    """A vector with coordinates in the plane and along its normal, as text."""
    first, second = scene_values.AXES[plane]
    return str([x * a + y * b + z * c for a, b, c in zip(first, second, scene_values.plane_normal(plane), strict=True)])


def built(text):
    document = scene(text)
    return build(resolve(document), document)


def thrown(plane):
    return f"""
world: {{plane: {plane}}}
bodies:
  disc:
    pose: {{xyz: {place(plane, 1, 2)}, axis_angle: {{axis: {place(plane, 0, 0, 1)}, angle: 0.5}}}}
    mass: 2
    com: {place(plane, 0.1, 0.05)}
    inertia: 0.3
    velocity: {{linear: {place(plane, 3, 4)}, angular: {place(plane, 0, 0, 5)}}}
"""


@pytest.mark.parametrize("plane", PLANES)
def test_a_thrown_disc_flies_in_its_plane(plane, device):
    """Its centre on a parabola along the second axis, its angle even; coordinates are [x, y, angle] of the body frame."""
    runner = Runner(thrown(plane), "rk4", device)
    model = runner.model
    assert model.joints.name == ("disc_free",)
    assert model.joints.kind.tolist() == [JointKind.PLANAR]
    assert model.plane == scene_values.NORMAL_INDEX[plane]
    assert np.abs(model.joint_q[0] - [1, 2, 0.5]).max() < EXACT
    columns = runner(1e-3, 100, 5)
    t = np.arange(6) * 0.1
    q = columns["frames/joint_q"][:, 0]
    pose = columns["frames/body_q"][:, 0, 0]
    centre = pose[:, :3] + rot.quat_rotate(pose[:, 3:], model.bodies.com[0, 0])
    e1, e2 = np.array(scene_values.AXES[plane])
    start = 1 * e1 + 2 * e2 + rot.quat_rotate(pose[0, 3:], model.bodies.com[0, 0])
    expected = start + np.outer(3 * t, e1) + np.outer(4 * t - 0.5 * 9.81 * t**2, e2)
    assert np.abs(centre - expected).max() < 1e-9  # rk4 of a spin of 5 rad/s: (5e-3)^4
    assert np.abs(q[:, 2] - 0.5 - 5 * t).max() < EXACT
    assert np.abs(q[:, :2] - np.stack((pose[:, :3] @ e1, pose[:, :3] @ e2), axis=1)).max() < EXACT
    assert np.abs(pose[:, :3] @ scene_values.plane_normal(plane)).max() == 0
    assert np.abs(columns["energy/drift"]).max() < 1e-9


def test_the_inertia_of_a_plane_is_that_of_a_plate():
    for plane in PLANES:
        model = built(thrown(plane))
        expected = np.full(3, 0.15)
        expected[scene_values.NORMAL_INDEX[plane]] = 0.3
        assert np.allclose(model.bodies.inertia[0, 0], np.diag(expected), rtol=EXACT)


def test_what_is_written_of_the_velocity_is_known():
    model = built(thrown("xz"))
    assert model.dofs.qd_given.tolist() == [True] * 3
    model = built(thrown("xz").replace("linear: [3.0, 0.0, 4.0], ", ""))
    assert model.dofs.qd_given.tolist() == [False, False, True]


def test_velocity_is_that_of_the_centre_at_the_initial_angle():
    """Also where `initial` turns the body away from its pose."""
    model = built(thrown("xy") + "initial: {joint_q: {disc_free: [0, 0, 2.0]}}")
    c, s = np.cos(2.0), np.sin(2.0)
    arm = np.array([c * 0.1 - s * 0.05, s * 0.1 + c * 0.05])
    assert np.abs(model.joint_qd[0] - [3 + 5 * arm[1], 4 - 5 * arm[0], 5]).max() < EXACT


DOUBLE = """
world: {{{world}}}
bodies:
  a: {{mass: 1, com: [0, -0.3, 0], inertia: {inertia}}}
  b: {{mass: 2, pose: {{xyz: [0.1, -0.6, 0], rpy: [0, 0, 0.3]}}, com: [0, -0.2, 0], inertia: {inertia}}}
joints:
  one: {{type: revolute, parent: world, child: a, at: [0, 0, 0]{axis}, q: 0.7}}
  two: {{type: prismatic, parent: a, child: b, at: [0.1, -0.6, 0], axis: [0.3, -1, 0], qd: 0.5,
        drive: {{mode: position, stiffness: 200, damping: 3}}}}
"""


def test_a_planar_pendulum_is_its_spatial_twin(device):
    """The same motion to the last digits: with the axis left out, gravity left out and the inertia about the normal."""
    planar = Runner(DOUBLE.format(world="plane: xy", inertia="0.2", axis=""), "semi_implicit", device)
    written = {"world": "gravity: [0, -9.81, 0]", "inertia": "{diag: [0.1, 0.1, 0.2]}", "axis": ", axis: [0, 0, 1]"}
    spatial = Runner(DOUBLE.format(**written), "semi_implicit", device)
    ours, theirs = (runner(1e-3, 200, 3) for runner in (planar, spatial))
    for name in ("frames/joint_q", "frames/body_q", "frames/joint_qd", "energy/total"):
        assert ours[name].tobytes() == theirs[name].tobytes(), name
    assert np.abs(np.diff(ours["frames/joint_q"][:, 0, 0])).min() > 0.1


FOURBAR = """
world: {{{world}}}
defaults: {{joint: {{{axis}}}}}
bodies:
  crank: {{mass: 1, com: [0, 0.5, 0], inertia: {{diag: [0.1, 0.1, 0.1]}}}}
  rod: {{mass: 1, pose: {{xyz: [0, 1, 0]}}, com: [1, 0, 0], inertia: {{diag: [0.1, 0.1, 0.1]}}}}
  rocker: {{mass: 1, pose: {{xyz: [2, 0, 0]}}, com: [0, 0.5, 0], inertia: {{diag: [0.1, 0.1, 0.1]}}}}
joints:
  a: {{type: revolute, parent: world, child: crank, at: [0, 0, 0]}}
  b: {{type: revolute, parent: crank, child: rod, at: [0, 1, 0]}}
  d: {{type: revolute, parent: world, child: rocker, at: [2, 0, 0]}}
  c: {{type: {type}, parent: rod, child: rocker, at: [2, 1, 0], loop: true{extra}}}
"""


@pytest.mark.parametrize(
    ("kind", "extra", "rows", "rank"),
    [
        ("revolute", "", 2, 2),
        ("fixed", "", 3, 3),
        ("prismatic", ", axis: [1, 2, 0]", 2, 2),
        ("planar", "", 0, 0),
        ("distance", ", length: 1, child_frame: {xyz: [0, 1.5, 0]}", 1, 1),
    ],
)
def test_loops_in_a_plane_have_the_rows_of_the_plane(kind, extra, rows, rank):
    text = FOURBAR.format(world="plane: xy", axis="", type=kind, extra=extra)
    if kind == "distance":
        text = text.replace("at: [2, 1, 0], loop", "loop")
    model = built(text)
    found = freedom(model)
    assert (found["rows"], found["rank"], found["redundant"]) == (rows, rank, [])
    assert constraints_of(model).rows.n == rows


def test_a_body_on_a_rod_keeps_to_the_plane():
    model = built("""
world: {plane: xy}
bodies: {a: {mass: 1, inertia: 0.1, pose: {xyz: [0, -1, 0]}}}
joints: {rod: {type: distance, parent: world, child: a, length: 1}}
""")
    assert (model.joints.name, model.joints.is_tree.tolist()) == (("rod", "a_free"), [False, True])
    assert freedom(model)["dof"] == 2


def test_a_spatial_loop_has_rows_that_say_nothing_new():
    found = freedom(built(FOURBAR.format(world="gravity: [0, -9.81, 0]", axis="axis: [0, 0, 1]", type="revolute", extra="")))
    assert (found["rows"], found["rank"]) == (5, 2)


def test_instances_turn_slides_and_keep_hinges():
    model = built("""
world: {plane: xz}
models:
  m:
    bodies: {a: {mass: 1, inertia: 0.1}, b: {mass: 1, inertia: 0.1}}
    joints: {hinge: {type: revolute, parent: world, child: a, at: [0, 0, 0]}, slide: {type: prismatic, parent: a, child: b}}
instances: {left: {model: m, at: {xyz: [1, 0, 2], rpy: [0, -90 deg, 0]}}}
""")
    assert np.abs(model.dofs.axis[0] - [[0, -1, 0], [0, 0, 1]]).max() < EXACT
    assert np.abs(model.bodies.q[0, 0, :3] - [1, 0, 2]).max() < EXACT


def test_a_cable_in_a_plane_bends_in_it():
    text = "bodies: {a: {mass: 1, inertia: 0.1}}\njoints: {w: {type: cable, parent: world, child: a, bend: 1}}"
    for plane in PLANES:
        tangent = built(f"world: {{plane: {plane}}}\n{text}").cables.tangent[0, 0]
        assert tangent @ scene_values.plane_normal(plane) == 0


@pytest.mark.usefixtures("all_supported")
def test_a_kinematic_body_is_led_in_its_plane():
    text = """
world: {plane: xz}
bodies: {cart: {kinematic: true, motion: {linear: [1, 0, $up], angular: [0, -3, 0]}%s}}
signals: {up: {sine: {amplitude: 2, frequency: 1, phase: 90 deg}}}
"""
    model = built(text % "")
    assert np.abs(model.joint_qd[0] - [1, 2, 3]).max() < EXACT
    assert model.motions.value[0].tolist() == [1, 0, 3]
    assert (model.inputs.item.tolist(), model.inputs.gain[0].tolist()) == ([1], [1])
    with pytest.raises(SceneError, match="SC470"):
        built(text % ", com: [0.1, 0, 0]")


def test_a_planar_scene_reads_back_from_its_resolved_text():
    for gravity in ("", ", gravity: [0, 0, -9.81]", ", gravity: [1, 2, 0]"):
        text = thrown("xy").replace("plane: xy", "plane: xy" + gravity)
        model = built(text)
        again = built(resolved_yaml(resolve(scene(text))).removeprefix("simcli: 1\n"))
        assert (again.gravity == model.gravity).all()
        assert (again.joint_q == model.joint_q).all()
    assert built(thrown("xy")).gravity[0].tolist() == [0, -9.81, 0]


PLANAR = "world: {plane: xy}\nbodies: {a: {mass: 1, inertia: 0.1%s}}\njoints: {j: {%s}}"
HINGE = "type: revolute, parent: world, child: a"


@pytest.mark.parametrize(
    ("body", "joint", "path"),
    [
        (", pose: {xyz: [0, 0, 1e-6]}", HINGE, "bodies.a.pose.xyz"),
        (", pose: {rpy: [0.1, 0, 0]}", HINGE, "bodies.a.pose"),
        (", com: [0, 0, 1]", HINGE, "bodies.a.com"),
        (", velocity: {linear: [0, 0, 1]}", "type: fixed, parent: world, child: a", "bodies.a.velocity.linear"),
        (", velocity: {angular: [0, 1, 1]}", "type: fixed, parent: world, child: a", "bodies.a.velocity.angular"),
        ("", HINGE + ", axis: [0, 1, 0]", "joints.j.axis"),
        ("", HINGE + ", axis: [0, 1e-6, 1]", "joints.j.axis"),
        ("", HINGE + ", at: [0, 0, 1]", "joints.j.at"),
        ("", HINGE + ", parent_frame: {xyz: [0, 0, 1]}", "joints.j.parent_frame.xyz"),
        ("", HINGE + ", child_frame: {rpy: [0, 1, 0]}", "joints.j.child_frame"),
        ("", "type: prismatic, parent: world, child: a, axis: [1, 0, 1]", "joints.j.axis"),
        ("", "type: d6, parent: world, child: a, axes: {linear: [[0, 0, 1]]}", "joints.j.axes.linear[0]"),
        ("", "type: d6, parent: world, child: a, axes: {angular: [[1, 0, 0]]}", "joints.j.axes.angular[0]"),
        ("", "type: ball, parent: world, child: a", "joints.j.type"),
        ("", "type: free, parent: world, child: a", "joints.j.type"),
        ("", "type: screw, parent: world, child: a, pitch: 1", "joints.j.type"),
        ("", "type: cylindrical, parent: world, child: a", "joints.j.type"),
        ("", "type: universal, parent: world, child: a, axes: {angular: [[1, 0, 0], [0, 0, 1]]}", "joints.j.type"),
    ],
)
def test_what_leaves_the_plane_is_refused_where_it_stands(body, joint, path):
    with pytest.raises(SceneError) as caught:
        resolve(scene(PLANAR % (body, joint)))
    (fault,) = [fault for fault in caught.value.faults if fault.code != "SC459"]
    assert fault.code == "SC467"
    assert fault.where.path.startswith(path)
    assert fault.where.line > 0
    assert fault.hint


def test_a_world_that_leaves_the_plane_is_refused():
    vary = "\nbatch: {worlds: 2, vary: {'bodies.a.pose.xyz[2]': {list: [0, 1]}}}"
    with pytest.raises(SceneError, match="SC467"):
        resolve(scene(PLANAR % (", pose: {xyz: [0, 0, 0]}", HINGE) + vary))


@pytest.mark.parametrize("inertia", ["0", "point", "{diag: [1, 1, 0]}"])
def test_a_free_body_needs_inertia_about_the_normal_only(inertia):
    text = "world: {plane: xy}\nbodies: {a: {mass: 1, inertia: %s}}"
    with pytest.raises(SceneError, match="SC423"):
        resolve(scene(text % inertia))
    assert built(text % "{diag: [0, 0, 1]}" if inertia != "point" else text % "0.1").n_qd == 3


LOADED = """
world: {plane: xz, gravity: [0, 2, -9.81]}
bodies: {rod: {mass: 1, com: [0.5, 0, 0], inertia: 0.1}}
joints: {pin: {type: revolute, parent: world, child: rod, axis: [0, 1, 0]}}
forces:
  push: {type: wrench, body: rod, force: [1, $p, 0], torque: [0, 3, 0]}
  turn: {type: wrench, body: rod, torque: [0.2, 0, 0]}
  air: {type: drag, body: rod, damping: 0.1, wind: [0, 1, 0]}
  inside: {type: wrench, body: rod, force: [1, 0, 2], torque: [0, 1, 0]}
signals: {p: {sine: {amplitude: 1, frequency: 1}}}
"""
ACROSS = ["world.gravity", "forces.push.force", "forces.turn.torque", "forces.air.wind"]


@pytest.mark.parametrize("solver", ["natural", "maximal", "generalized"])
@pytest.mark.parametrize("channels", ["state, reactions", "state"])
def test_loads_across_the_plane_that_no_reaction_shows_are_told(solver, channels):
    document = scene(LOADED + f"solver: {{type: {solver}}}\noutput: {{channels: [{channels}]}}\n")
    resolve(document)
    told = [fault.where.path for fault in warnings(document) if fault.code == "SC479"]
    hidden = solver != "generalized" and "reactions" in channels
    assert [path.split("[")[0] for path in told] == (ACROSS if hidden else [])


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ([1, 0, 2, 0, 3, 0], []),
        ([0, 1, 0, 0, 0, 0], ["the force"]),
        ([0, 0, 0, 1, 0, "$p"], ["the torque"]),
    ],
)
def test_efforts_on_a_rod_are_loads_as_wrenches_are(value, told):
    frames = "parent_frame: {xyz: [1, 0, 0]}, child_frame: {}"
    document = scene(f"""world: {{plane: xz}}
bodies: {{rod: {{mass: 1, inertia: 0.1}}}}
joints: {{rod: {{type: distance, parent: world, child: rod, length: 1, {frames}}}}}
forces: {{t: {{type: torque, joint: rod, value: {json.dumps(value)}}}}}
signals: {{p: {{sine: {{amplitude: 1, frequency: 1}}}}}}
solver: {{type: natural}}
output: {{channels: [state, reactions]}}
""")
    resolve(document)
    found = [fault.message for fault in warnings(document) if fault.code == "SC479"]
    assert [re.search("the (force|torque)", message).group(0) for message in found] == told


@pytest.mark.parametrize(("solver", "integrator"), [mode for mode in MODES if mode[0] != "affine"])
def test_reactions_across_the_plane_are_those_of_the_tree_or_none(device, solver, integrator):
    """At t = 0: 2 N by gravity and 0.1 N by the wind, half a metre from the pin; 0.2 N m across the pin."""
    text = LOADED + f"solver: {{type: {solver}, dt: 1.0e-4}}\n"
    found = Runner(text, integrator, device, frozenset(("state", "reactions")))(1e-4, 1, 1)["frames/joint_wrench"][0, 0, 0]
    across = found[[1, 3, 5]]
    wanted = [-2.1, -0.2, -1.05] if solver == "generalized" else [0, 0, 0]
    assert across == pytest.approx(wanted, abs=1e-9)
