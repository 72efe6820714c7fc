"""Joints whose anchor slides and whose child turns freely: closed forms, agreement of all solvers, what is refused."""

from functools import cache

import numpy as np
import pytest
from support.device import live_device
from support.forward import model_of
from support.scenes import faults_of

from simcli import rotations as rot
from simcli.model.joints.catalogue import CATALOGUE
from simcli.solvers import SOLVERS, RunPlan
from simcli.spec.names import dofs

G, SPIN, H, N = 9.81, 2.0, 1e-3, 400
AXIS = np.array([0.6, 0.0, 0.8])
# Beads held in their centres of mass, which slide as their joints let them and spin about an axis of equal inertia.
BEADS = "\n".join((
    f"world: {{gravity: [0, 0, -{G}]}}",
    "defaults: {body: {mass: 2, inertia: {diag: [0.1, 0.1, 0.1]}}}",
    "bodies:",
    *(f"  {name}: {{pose: {{xyz: [0, {k}, 0]}}}}" for k, name in enumerate(dofs.SLIDING)),
    "joints:",
    *(f"  {name}: {{type: {name}, parent: world, child: {name}, axis: {AXIS.tolist()}}}" for name in dofs.SLIDING),
    f"initial: {{joint_qd: {{{', '.join(f'{name}_free: [0, 0, 0, 0, {SPIN}, 0]' for name in dofs.SLIDING)}}}}}", ""))
# Beside them a chain of such joints, and one alone: one kernel for each integrator.
CHAIN = """bodies:
  a: {mass: 1, com: [0.3, 0, 0], inertia: {diag: [0.1, 0.12, 0.15]}}
  b: {mass: 2, com: [0.2, 0.1, 0], inertia: {diag: [0.1, 0.12, 0.15]}, pose: {xyz: [0.6, 0, 0]}}
  c: {mass: 1.5, com: [0, 0.2, 0.1], inertia: {diag: [0.1, 0.12, 0.15]}, pose: {xyz: [0, 2, 0]}}
""", """joints:
  swing: {type: revolute, parent: world, child: a, axis: [0, 1, 0], qd: 1}
  line: {type: point_on_line, parent: a, child: b, at: [0.6, 0, 0], axis: [0, 0.3, 1]}
  plane: {type: point_on_plane, parent: world, child: c, at: [0, 2, 0], axis: [0, 0.2, 1]}
"""
SCENE = BEADS
for section in CHAIN:
    SCENE = SCENE.replace(section.split("\n", 1)[0] + "\n", section)
LINKS = ("a", "b", "c")
STEPPERS = {("generalized", "rk4"): 1e-9, ("generalized", "implicit"): 2e-5, ("natural", "zhong06"): 5e-5,
            ("natural", "generalized_alpha"): 1e-4, ("generalized", "semi_implicit"): 1e-2,
            ("maximal", "semi_implicit"): 1e-2, ("affine", "bdf2"): 5e-4}  # fmt: skip
# In generalized coordinates these joints are rows, which rk4 tells; test_laws_energies.py and test_simulation_starts.py tell
# other steps of rows.
SLOW = {("generalized", "implicit"), ("generalized", "semi_implicit")}
# Where a bead is: the length of the step.
SLID = {"rk4": 1e-9, "implicit": 1e-9, "zhong06": 1e-9, "generalized_alpha": 1e-6, "semi_implicit": 2e-3, "bdf2": 2e-4}


@cache
def run(kind, integrator):
    """Model of the scene, and the columns of its last frame."""
    model, options = model_of(f"{SCENE}solver: {{type: {kind}, integrator: {integrator}, dt: {H}}}\n")
    plan = RunPlan(H, N, 1, frozenset(("state", "reactions", "energy")))
    solver = SOLVERS[kind](model, options, plan, live_device())
    columns = [solver.initial().columns, solver.advance(1).columns]
    assert columns[-1]["diag/status"].max() == 0
    return model, {name: column[-1, 0] for name, column in columns[-1].items()}


def of_joint(model, columns, name, axis="q"):
    j = model.joints.name.index(name)
    start = getattr(model.joints, f"{axis}_start")
    return columns[f"frames/joint_{axis}"][start[j] : start[j + 1]]


def test_the_lists_agree():
    assert set(dofs.SLIDING) <= dofs.NEVER_TREE
    for name, of in dofs.SLIDING.items():
        entry = CATALOGUE[name]
        motion = entry.motion(axis=AXIS)
        assert entry.dof_dim(motion) == (of.count("L"), 3)
        assert entry.n_q(motion) == dofs.n_q(name, len(of))
        assert len(entry.rows(motion)) == 6 - len(of)


def slowly(steppers):
    return [pytest.param(*one, marks=[pytest.mark.slow] * (one in SLOW)) for one in steppers]


@pytest.mark.parametrize(("kind", "integrator"), slowly(STEPPERS))
def test_beads_slide_down_and_spin_on(kind, integrator):
    """x = g t^2 / 2 in the directions that are left, the turn w t about its axis; the wrench holds the others."""
    model, found = run(kind, integrator)
    t, gravity = H * N, np.array([0, 0, -G])
    for k, name in enumerate(dofs.SLIDING):
        body, joint = model.bodies.name.index(name), model.joints.name.index(name)
        down = AXIS * (AXIS @ gravity) if name == "point_on_line" else gravity - AXIS * (AXIS @ gravity)
        assert np.abs(found["frames/body_q"][body, :3] - [0, k, 0] - down * t**2 / 2).max() < SLID[integrator]
        q = of_joint(model, found, name)
        axes = CATALOGUE[name].motion(axis=AXIS).linear
        assert np.abs(q[:-4] - axes @ down * t**2 / 2).max() < SLID[integrator]
        turned = rot.quat_rotate(q[-4:], np.array([1.0, 0, 0]))
        assert np.abs(turned - [np.cos(SPIN * t), 0, -np.sin(SPIN * t)]).max() < max(SLID[integrator], 1e-5)
        wrench = found["frames/joint_wrench"][joint, :3]
        assert np.abs(wrench + 2 * (gravity - down)).max() < max(SLID[integrator], 1e-6) * 20


def poses_of_links(kind, integrator):
    model, found = run(kind, integrator)
    return found["frames/body_q"][[model.bodies.name.index(name) for name in LINKS]]


@pytest.mark.parametrize(("kind", "integrator"), slowly(pair for pair in STEPPERS if pair[1] != "rk4"))
def test_solvers_agree_on_a_chain(kind, integrator):
    model, found = run(kind, integrator)
    pose, wanted = poses_of_links(kind, integrator), poses_of_links("generalized", "rk4")
    sign = np.sign(np.sum(pose[:, 3:] * wanted[:, 3:], axis=1, keepdims=True))
    gap = np.abs(np.c_[pose[:, :3], pose[:, 3:] * sign] - wanted).max()
    assert gap < STEPPERS[kind, integrator]
    assert np.linalg.norm(of_joint(model, found, "line")[-4:]) == pytest.approx(1.0)


@pytest.mark.parametrize(("words", "solver"), [
    ("drive: {mode: effort, target: 1}", "generalized"), ("damping: 1", "maximal"), ("limit: [0, 1]", "natural"),
    ("friction: 1", "affine")])  # fmt: skip
def test_what_acts_on_their_coordinates_is_refused_by_name(words, solver):
    text = BEADS.replace(f"axis: {AXIS.tolist()}", f"axis: {AXIS.tolist()}, {words}", 1)
    found = faults_of(f"{text}solver: {{type: {solver}, dt: 1e-3}}\n")
    assert [one[0] for one in found] == ["SC501"]
    assert "point_on_line" in found[0][2]
