"""Compliant contacts: overlaps at rest, impacts against the implicit step of their springs, energy, and what is refused."""

import numpy as np
import pytest
from support.contact_scenes import GRAVITY, run, scene
from support.contacts import read_model

from simcli.errors import SceneError

H = 2e-3  # [s]
DURATION = 1.2  # [s], in which the implicit steps damp oscillations of 220 rad/s by more than 1e-13
FLOOR, SKIN, PAIRED, SOFT = 2e-6, 8e-6, 1.2e-5, 1e-3  # [m/N]
DROP = 0.05  # [m]
FINE = {"tolerance": 1e-12}
REST = 1e-9  # relative, of overlaps and forces at rest
TILTED = 1e-6  # relative, what the closed form leaves out: angles are 4e-5 rad
DROPPED = 1e-11  # [m], of steps that are solved to 1e-10 m/s
FIRST_ORDER = (1.8, 2.2)  # ratio of the energies that steps in the ratio 2 lose
slow = pytest.mark.slow
SOLVERS = ["generalized", *(pytest.param(name, marks=slow) for name in ("maximal", "natural"))]


def body(mass, at, material, radius=0.1):
    return {"mass": mass, "pose": {"xyz": at}, "shapes": {"s": {"type": "sphere", "radius": radius, "material": material}}}


FALLING = {
    "simcli": 1,
    "materials": {"floor": {"compliance": FLOOR}, "skin": {"compliance": SKIN}, "hard": {},
                  "soft": {"compliance": SOFT - FLOOR, "friction": 0}},
    "world": {"shapes": {"ground": {"type": "plane", "material": "floor"}}},
    "bodies": {"drop": body(2, [6, 0, 0.1 + DROP], "soft")},
    "output": {"channels": ["state", "energy", "contacts"]},
}  # fmt: skip
SHELF = FALLING | {
    "bodies": {
        "drop": FALLING["bodies"]["drop"],
        "ball": body(2, [0, 0, 0.1], "skin"),
        "top": body(1, [0, 0, 0.25], "skin", 0.05),
        "rigid": body(2, [1, 0, 0.1], "hard"),
        "pair": body(2, [2, 0, 0.1], "hard"),
        "block": {"mass": 4, "pose": {"xyz": [4, 0, 0.1]}, "com": [0.1, 0, 0], "inertia": {"diag": [0.2, 0.2, 0.2]},
                  "shapes": {"box": {"type": "box", "size": [1, 1, 0.2], "material": "skin"}}},
    },
    "joints": {"rail": {"type": "prismatic", "parent": "world", "child": "top", "at": [0, 0, 0.25], "axis": [0, 0, 1]}},
    "contact": {"pairs": [{"a": "pair", "b": "ground", "compliance": PAIRED}]},
}  # fmt: skip
OF_PAIR = {("drop", "world"): SOFT, ("ball", "world"): FLOOR + SKIN, ("ball", "top"): 2 * SKIN, ("rigid", "world"): FLOOR,
           ("pair", "world"): PAIRED, ("block", "world"): FLOOR + SKIN}  # fmt: skip


@pytest.fixture(scope="module", params=SOLVERS)
def shelf(request, tmp_path_factory):
    content = scene(request.param, H, DURATION, SHELF, contact=FINE)
    code, found = run(tmp_path_factory.mktemp("shelf"), request.param, content)
    assert code == 0
    return found


def rows_of(found, frame):
    """Contacts of a frame: names of both bodies in order, gap and normal force."""
    rows, names = found.contacts(frame, 0), [*found.bodies, "world"]
    owner = found.model["shape_body"]
    ends = [tuple(sorted(names[owner[s]] for s in pair)) for pair in zip(rows["shape_a"], rows["shape_b"], strict=True)]
    return list(zip(ends, rows["gap"], (rows["force"] * rows["normal"]).sum(axis=1), strict=True))


def test_overlaps_at_rest_are_compliance_times_force(shelf):
    sunk = {name: shelf.body(name).position[0, 0, 2] - shelf.body(name).position[-1, 0, 2] for name in shelf.bodies}
    stands = (FLOOR + SKIN) * 3 * GRAVITY
    assert sunk["rigid"] == pytest.approx(FLOOR * 2 * GRAVITY, rel=REST)
    assert sunk["pair"] == pytest.approx(PAIRED * 2 * GRAVITY, rel=REST)
    assert sunk["ball"] == pytest.approx(stands, rel=REST)
    assert sunk["top"] == pytest.approx(stands + 2 * SKIN * 1 * GRAVITY, rel=REST)


def test_a_block_stands_on_four_springs(shelf):
    """Its load is off the middle: k (d + x a) at x = +-1/2, four of them, sum m g and sum of moments m g x_c."""
    load = 4 * GRAVITY
    forces = sorted(force for ends, _, force in rows_of(shelf, -1) if "block" in ends)
    assert forces == pytest.approx(np.array([0.2, 0.2, 0.3, 0.3]) * load, rel=TILTED * 100)
    turn = 2 * np.arcsin(shelf.body("block").orientation[-1, 0, 1])
    assert turn == pytest.approx((FLOOR + SKIN) * load * 0.1, rel=TILTED * 100)
    assert sum(forces) == pytest.approx(load, rel=REST)


def test_overlaps_are_compliance_times_force_and_store_energy_at_every_frame(shelf):
    for frame in (0, 100, 250, -1):
        stored, n = 0.0, 0
        for ends, gap, force in rows_of(shelf, frame):
            compliance = OF_PAIR[ends]
            stored += 0.5 * min(gap, 0.0) ** 2 / compliance
            n += gap < 0
            if frame:  # frame 0 shows what the first step will do
                assert max(-gap, 0.0) == pytest.approx(compliance * force, rel=1e-6, abs=1e-9)
        assert n >= 8 or not frame
        assert shelf.energy.elastic[frame, 0] == pytest.approx(stored, rel=1e-6, abs=1e-12)


def dropped(h, n):
    """[m] heights over a floor of compliance SOFT, by the implicit step of a mass of 2 kg on a spring that only pushes."""
    z, v, heights = DROP, 0.0, [DROP]
    for _ in range(n):
        free = v - h * GRAVITY
        v = free + max(0.0, -(z + h * free) / (SOFT / h + h / 2)) / 2
        z += h * v
        heights.append(z)
    return np.array(heights)


def test_an_impact_is_the_implicit_step_of_its_spring(shelf):
    height = shelf.body("drop").position[:, 0, 2] - 0.1
    wanted = dropped(H, len(height) - 1)
    assert wanted.min() < -0.05
    assert wanted[300:].max() > 0  # it has left the floor again
    assert np.abs(height - wanted).max() < DROPPED


@slow
def test_sparse_systems_know_compliance(tmp_path):
    found = [run(tmp_path, linear, scene("maximal", H, 0.2, FALLING, contact=FINE | {"linear": linear}))[1]
             for linear in ("dense", "sparse")]  # fmt: skip
    heights = [one.body("drop").position[:, 0, 2] for one in found]
    assert heights[0].min() < 0.1 - 0.01
    assert np.abs(heights[0] - heights[1]).max() < DROPPED


@pytest.mark.parametrize("solver", SOLVERS)
def test_what_steps_lose_is_of_first_order_and_no_dissipation(tmp_path, solver):
    lost = []
    for h in (5e-4, 2.5e-4):
        code, found = run(tmp_path, f"{h}", scene(solver, h, 0.2, FALLING, every=0.05))
        assert code == 0
        assert abs(found.energy.dissipated[-1, 0]) < 1e-12
        lost.append(-found.energy.drift[-1, 0])
    assert FIRST_ORDER[0] < lost[0] / lost[1] < FIRST_ORDER[1]


HEAD = """\
simcli: 1
materials:
  rubber: {restitution: 0.5}
  foam: {compliance: 1 um/N}
world: {shapes: {ground: {type: plane, material: rubber}}}
bodies:
  ball: {mass: 1, inertia: {diag: [1, 1, 1]}, shapes: {skin: {type: sphere, radius: 0.1, material: foam}}}
"""


def faults(folder, text):
    with pytest.raises(SceneError) as caught:
        read_model(folder, text)
    return {fault.code for fault in caught.value.faults}


def test_a_rebound_has_one_law(tmp_path):
    assert faults(tmp_path, HEAD) == {"SC669"}
    for pair in ("restitution: 0", "compliance: 0"):
        contacts = read_model(tmp_path, HEAD + f"contact: {{pairs: [{{a: ball, b: ground, {pair}}}]}}\n").contacts
        assert contacts.compliance[0, 0] == (0 if pair.startswith("c") else 1e-6)


def test_the_affine_solver_refuses_it_by_name(tmp_path):
    text = HEAD.replace("restitution: 0.5", "friction: 0.5") + "solver: {type: affine, dt: 1 ms}\n"
    with pytest.raises(SceneError, match="compliance of contacts"):
        read_model(tmp_path, text)
    with pytest.raises(SceneError, match="compliance of contacts"):
        read_model(tmp_path, text.replace("compliance: 1 um/N", "friction: 0.1")
                   + "contact: {pairs: [{a: ball, b: ground, compliance: 1 um/N}]}\n")  # fmt: skip
