"""Friction that differs along and across a grain: the ellipse of the step's own equations, and what is refused."""

import numpy as np
import pytest
from support.contact_scenes import GRAVITY, batch, run, scene
from support.contacts import read_model

from simcli.errors import SceneError
from simcli.kernels.collision.tables import MOST_FRICTION

H, DURATION = 1e-2, 0.5  # [s]
VELOCITY = 1e-6  # [m/s], a hundred times `solver.contact.tolerance`: what a step may lack
LEDGER = 1e-7  # [J]
ALONG, ACROSS = 0.2, 0.6
NEUTRAL = {"a": 0.0, "psi": 0.0, "v": 0.0, "phi": 0.0, "along": ALONG, "across": ACROSS, "more": 0.0}
DEG = np.pi / 180
CASES = {f"thrown {phi}, grain {psi}": {"v": 2.0, "phi": phi * DEG, "psi": psi * DEG}
         for phi in (0, 35, 90) for psi in (0, 20)}  # fmt: skip
CASES |= {f"slope {a}, grain {psi}": {"a": a * DEG, "psi": psi * DEG} for a in (10, 20, 35) for psi in (0, 45, 70, 90)}
CASES |= {"slides across it alone": {"v": 2.0, "phi": 0.5, "along": 0.5, "across": 0.0},
          "slides along it alone": {"v": 2.0, "phi": 0.5, "along": 0.0, "across": 0.5},
          "isotropic": {"v": 2.0, "phi": 0.5, "psi": 0.3, "along": 0.4, "across": 0.4},
          "held at rest": {"a": 15 * DEG, "more": 0.1}}  # fmt: skip
TURN = {"axis_angle": {"axis": [0, 0, 1], "angle": "${psi}"}}
BOX = {"type": "box", "size": [1, 1, 0.2], "material": "m"}
START = {"linear": ["${v*cos(phi)}", "${v*sin(phi)}", 0]}
# The grain is that of a block, of a block that is itself turned, of what lies below.
BLOCKS = {
    "own": {"mass": 2, "pose": {"xyz": [0, 0, 0.1]}, "velocity": START,
            "shapes": {"box": {**BOX, "grain": ["${cos(psi)}", "${sin(psi)}", 0]}}},
    "turned": {"mass": 2, "pose": {"xyz": [0, 8, 0.1], **TURN}, "velocity": START,
               "shapes": {"box": {**BOX, "grain": [2, 0, 0]}}},
    "below": {"mass": 2, "pose": {"xyz": [0, -20, 0.1]}, "velocity": START, "shapes": {"box": BOX}},
}
FLOOR = {"type": "box", "size": [30, 30, 2], "pose": {"xyz": [0, -20, -1], **TURN}, "grain": [1, 0, 0], "material": "m"}
YARD = {
    "simcli": 1,
    "params": NEUTRAL,
    "materials": {"m": {"friction": "${along}", "friction_across": "${across}", "friction_static": "${along + more}"}},
    "world": {"gravity": [f"${{{GRAVITY}*sin(a)}}", 0, f"${{-{GRAVITY}*cos(a)}}"],
              "shapes": {"ground": {"type": "plane", "material": "m"}, "floor": FLOOR}},
    "bodies": BLOCKS,
    "contact": {"exclude": [["own", "floor"], ["turned", "floor"], ["below", "ground"], ["own", "turned"], ["own", "below"],
                            ["turned", "below"]]},
    "output": {"channels": ["state", "energy"]},
}  # fmt: skip
OTHERS = [pytest.param(solver, marks=pytest.mark.slow) for solver in ("maximal", "natural")]


@pytest.fixture(scope="module", params=["generalized", *OTHERS])
def yard(request, tmp_path_factory):
    content = {**scene(request.param, H, DURATION, YARD), "batch": batch(CASES, NEUTRAL)}
    code, found = run(tmp_path_factory.mktemp("grain"), request.param, content)
    assert code == 0
    return found


def slide(a, psi, v, phi, along, across, more):
    """[m/s], (F, 2): velocities of a block in the steps of the first order, from v+ = v + h (g_t - g_n D^2 v+ / |D v+|)."""
    turn = np.array([[np.cos(psi), np.sin(psi)], [-np.sin(psi), np.cos(psi)]])  # to the axes of the grain
    mu, normal = np.array([along, across]), GRAVITY * np.cos(a)
    pull = turn @ [GRAVITY * np.sin(a), 0.0]
    now = turn @ [v * np.cos(phi), v * np.sin(phi)]
    found = [now]
    slips = bool(v)
    for _ in range(round(DURATION / H)):
        free = now + H * pull
        limit = mu * (1 if slips or not more else (along + more) / along)
        hold = H * normal * limit
        needs = np.divide(free, hold, out=np.full(2, np.inf), where=hold > 0)
        slips = needs[free != 0] @ needs[free != 0] > 1
        now = sliding(free, H * normal * limit**2, limit) if slips else np.zeros(2)
        found.append(now)
    return np.array(found) @ turn


def sliding(free, brake, mu):
    """v of v_i = free_i / (1 + brake_i / s) with s = |mu v|, by halving."""
    low, high = 0.0, float(np.linalg.norm(mu * free))
    for _ in range(200):
        s = (low + high) / 2
        if np.linalg.norm(mu * free) > 0 and np.linalg.norm(mu * free / (s + brake)) > 1:
            low = s
        else:
            high = s
    return np.where(brake == 0, free, free * low / np.where(brake == 0, 1.0, low + brake))


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("block", BLOCKS)
def test_blocks_slide_as_the_ellipse_says(yard, block, case):
    world = list(CASES).index(case)
    expected = slide(**{**NEUTRAL, **CASES[case]})
    np.testing.assert_allclose(yard.body(block).velocity[:][:, world, :2], expected, rtol=0, atol=VELOCITY)


def test_cases_tell_the_ellipse_from_a_circle():
    """Those on slopes slide off the line of fall, stand, and slide straight."""
    ends = {case: slide(**{**NEUTRAL, **CASES[case]})[-1] for case in CASES}
    assert not ends["slope 20, grain 90"].any()
    assert not ends["held at rest"].any()
    assert ends["slope 20, grain 0"][0] > 0.5
    assert abs(ends["slope 35, grain 45"][1]) > 0.3
    assert np.ptp(np.ptp([slide(**{**NEUTRAL, **CASES["thrown 35, grain 0"]})], axis=1)) > 0.1


def test_ledger_knows_what_friction_takes(yard):
    flat = [k for k, case in enumerate(CASES.values()) if "a" not in case]  # nothing but friction does work
    assert np.abs(yard.energy.drift[:][:, flat]).max() < LEDGER
    assert yard.energy.dissipated[:][-1, flat].min() > 1.0


@pytest.mark.parametrize("solver", ["generalized", *OTHERS])
def test_a_grain_that_holds_leaves_friction_across_it(tmp_path, solver):
    """Of 1e6 along the grain; a step meets speeds along a tangent that is shorter by the ratio of both."""
    case = {"along": 1.0e6, "across": 0.3, "v": 2.0, "phi": 90 * DEG}
    code, found = run(tmp_path, solver, {**scene(solver, H, DURATION, YARD), "params": NEUTRAL | case})
    assert code == 0
    slows = case["v"] - case["across"] * GRAVITY * found.time[:]
    ratio = MOST_FRICTION["float64"] / case["across"]
    assert np.abs(found.body("own").velocity[:, 0, 1] - slows).max() < ratio * VELOCITY


BOX_SCENE = """\
simcli: 1
materials: {rug: {friction: 0.2, friction_across: 0.6}, wood: {friction: 0.4}}
world: {shapes: {ground: {type: plane, material: rug, grain: [1, 1, 0]}}}
bodies:
  crate: {mass: 1, shapes: {hull: {type: box, size: [1, 1, 1], material: wood}}}
"""
WRONG = {
    "nobody has a grain": (", grain: [1, 1, 0]", "", "SC665", "none of them"),
    "both have one": ("material: wood", "material: wood, grain: [1, 0, 0]", "SC665", "both have"),
    "a grain for nothing": (", friction_across: 0.6", "", "SC665", "does nothing"),
    "no direction": ("[1, 1, 0]", "[0, 0, 0]", "SC456", "zero"),
    "a floor without one": ("type: plane", "type: plane, normal: [0, 0, 0]", "SC456", "zero"),
    "a floor without size": ("type: plane", "type: box, size: [1, 0, 1]", "SC231", "larger than 0"),
    "negative": ("friction_across: 0.6", "friction_across: -0.6", "SC231", "-0.6"),
}


@pytest.mark.parametrize("case", WRONG)
def test_grains_that_are_wrong(case, tmp_path):
    old, new, code, words = WRONG[case]
    with pytest.raises(SceneError) as caught:
        read_model(tmp_path, BOX_SCENE.replace(old, new))
    assert (caught.value.faults[0].code, words in caught.value.faults[0].message) == (code, True)


def test_affine_bodies_refuse_it_by_name(tmp_path):
    with pytest.raises(SceneError, match="friction that differs between directions"):
        read_model(tmp_path, BOX_SCENE + "solver: {type: affine}\n")


PAIRS = {"isotropic": ("friction: 0.5", 0.5, 0.5, -1), "both": ("friction: 0.5, friction_across: 0.1", 0.5, 0.1, 1),
         "materials'": ("restitution: 0.5", 0.3, 0.5, 1)}  # fmt: skip


@pytest.mark.parametrize("case", PAIRS)
def test_numbers_of_a_pair(case, tmp_path):
    text, along, across, shape = PAIRS[case]
    head = BOX_SCENE if shape == 1 else BOX_SCENE.replace(", grain: [1, 1, 0]", "")
    more = f"contact: {{pairs: [{{a: crate, b: ground, {text}}}]}}\n"
    contacts = read_model(tmp_path, head + more).contacts
    np.testing.assert_allclose([contacts.friction[0, 0], contacts.friction_across[0, 0]], [along, across], rtol=1e-15)
    assert contacts.grain_shape.tolist() == [shape]


def test_params_that_others_make_matter_may_vary(tmp_path):
    """At v = 0 a direction changes nothing, in the worlds with another v it does."""
    text = BOX_SCENE.replace("simcli: 1", "simcli: 1\nparams: {v: 0, phi: 0}").replace(
        "mass: 1", 'mass: 1, velocity: {linear: ["${v*cos(phi)}", "${v*sin(phi)}", 0]}')  # fmt: skip
    vary = "batch: {worlds: 2, vary: {params.v: {list: [0, 2]}, params.phi: {list: [0, 1]}}}\n"
    read_model(tmp_path, text + vary)
    unused = BOX_SCENE.replace("simcli: 1", "simcli: 1\nparams: {phi: 0}")
    with pytest.raises(SceneError, match=r"`params.phi` changes nothing"):
        read_model(tmp_path, unused + vary.replace("params.v: {list: [0, 2]}, ", ""))
