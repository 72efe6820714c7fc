"""Orders of convergence of every law of the table of joint fields, type by type, in the tree and in loops.

Integrators of order two keep it while the pieces of a law stand, also at the limit of a drive, beyond a soft limit and in
the drive of a ball; where a law switches, the order is one. All joints stand side by side in one scene
(support/joint_laws.py); the oracles are closed forms. One compilation serves all steps and laws of an integrator.
"""

import json

import numpy as np
import pytest
from support import joint_laws
from support.device import live_device
from support.forward import CHANNELS, Runner, slope
from support.joint_laws import KINDS, LAWS, SMOOTH_LAWS
from test_laws_of_joints import FORMS, HIT, settling, until

from simcli.model import build_worlds
from simcli.pipeline import read_scene
from simcli.spec.honours.joint_fields import JOINTS

FRAMES = 8
SMOOTH_SPAN, COUNTS = 0.24, (24, 48, 96)  # [s], steps: no law switches before HIT = 0.327 s, 0.3 s or 1/6 s, but bumps
WHOLE_SPAN, MANY_COUNTS = 0.96, (88, 160, 296, 536)  # [s], steps: over all switches, which no step begins or ends with
ORDER_SLACK = 0.1  # of a slope over two halvings
NONE = 1e-11  # [m or rad, or per second] that is no error: rounding of 536 steps of 0.6 m/s
# Errors by step of a first-order step at a switch [m/s, m/s^2]: the change of the rate there, 1.4 m/s at most, and of the
# acceleration, 50 * 1 + 6 m/s^2 at most.
X_PER_STEP, V_PER_STEP = 1.4, 56.0
LIMIT_CHANGES = 1e-12  # [m or rad, or per second] between a drive without a limit and one whose limit is not reached
BUMP = 1 / 6  # [s]: 0.6 t = 0.1
SWITCHES = {"upper": HIT, "lower": HIT, "brake": 0.4, "fast": 0.3, "weak": 0.6, "bump": BUMP}  # weak: about there
FEW = ("revolute", "ball")
CASES = {
    "implicit": ("generalized", "implicit", FEW),
    "implicit, every joint": ("generalized", "implicit", tuple(KINDS)),
    "rk4": ("generalized", "rk4", FEW),
    "zhong06": ("natural", "zhong06", FEW),
}


def bumping(t, k=100.0, c=4.0):
    """Unit mass at 0.6 m/s that meets a spring and damper at 0.1 m, and leaves where it passes that place again."""
    w = np.sqrt(k - c**2 / 4)
    s = np.clip(t - BUMP, 0.0, np.pi / w)
    wave = 0.6 * np.exp(-c * s / 2)
    x, v = wave * np.sin(w * s) / w, wave * (np.cos(w * s) - c / (2 * w) * np.sin(w * s))
    return until(t, BUMP, (0.6 * t, 0.6 + 0 * t), (0.1 + x + v * np.maximum(t - BUMP - np.pi / w, 0.0), v))


ARM_JOINTS = ("shoulder", "elbow", "wrist")
FOURTH = (3.5, 4.5)  # how much an error of order two falls with half the step, and terms of the next order at 10 ms


def arm(place):
    """Bodies and joints of a chain that its laws turn in space: a ball with a drive, a soft limit, a drive with a limit."""
    names = [f"{name}_{place}" for name in ("upper", "lower", "hand")]
    loop = {"loop": True} if place == "loop" else {}
    places = [[0.1, 0.05, 0.0], [0.4, 0.0, 0.05], [0.65, 0.02, 0.0]]
    bodies = {name: {"pose": {"xyz": xyz}, "mass": 1 - 0.3 * k, "inertia": {"diag": [0.03, 0.05 - 0.01 * k, 0.04]}}
              for k, (name, xyz) in enumerate(zip(names, places, strict=True))}  # fmt: skip
    laws = [
        {"type": "ball", "at": [0, 0, 0], "drive": [
            {"mode": "position", "stiffness": 12, "damping": 0.3, "target": x} for x in (0.6, -0.4, 0.9)]},
        {"type": "revolute", "at": [0.3, 0, 0], "axis": [0, 1, 1],
         "limit": {"upper": -3, "stiffness": 0.8, "damping": 0.05}},  # beyond it all the time
        {"type": "revolute", "at": [0.6, 0, 0], "axis": [1, 0, 1], "drive": {
            "mode": "position", "stiffness": 4, "damping": 0.1, "target": 1, "effort_limit": 1e3}},
    ]  # fmt: skip
    ends = zip(["world", *names], names, laws, ARM_JOINTS, strict=False)
    return bodies, {f"{name}_{place}": {"parent": a, "child": b, **law, **loop} for a, b, law, name in ends}


CLOSED = FORMS | {"calm": lambda t: settling(t, 1.0), "bump": bumping}


class Trial:
    """A forest of laws, and the frames of its runs by step, (F, dofs) of what is seen of each joint.

    Attributes:
        names: (law, joint) of all joints.
        smooth, whole: by joint, coordinates and rates of each run, and their errors; steps, whole_steps: [s].
        arms: by place, coordinates and rates of the arm at the end of each run over SMOOTH_SPAN.
    """

    def __init__(self, folder, solver, integrator, kinds):
        without = (*(set(KINDS) - set(kinds)), "compliance", "enabled")
        forest = joint_laws.forest(JOINTS[solver], without=without, laws=LAWS | SMOOTH_LAWS)
        path = joint_laws.write(folder / "forest.yaml", forest)
        scene = json.loads(path.read_text()) | {"solver": {"type": solver, "integrator": integrator}}
        for place in ("tree", "loop"):
            bodies, joints = arm(place)
            scene["bodies"] |= bodies
            scene["joints"] |= joints
        path.write_text(json.dumps(scene))
        document, spec = read_scene(path)
        self.runner = Runner.__new__(Runner)
        self.runner.begin(build_worlds(document, spec), spec.solver, live_device(), CHANNELS)
        self.kind_of = {name: kind for _law, kind, _place, name in forest.seen}
        self.names = [(law, name) for law, _kind, _place, name in forest.seen]
        (self.steps, self.smooth, columns) = self.errors(SMOOTH_SPAN, COUNTS)
        self.arms = {place: [self.arm(one, place) for one in columns] for place in ("tree", "loop")}
        self.whole_steps, self.whole, _ = self.errors(WHOLE_SPAN, MANY_COUNTS)

    def errors(self, span, counts):
        runs = [self.runner(span / n, n // FRAMES, FRAMES) for n in counts]
        t = np.linspace(0.0, span, FRAMES * 50 + 1)
        forms = {law: [part[::50] for part in CLOSED[law](t)] for law in {law for law, _ in self.names}}
        found = {}
        for law, name in self.names:
            seen = [self.seen(columns, law, name) for columns in runs]
            x, v = forms[law]
            found[name] = [(q, qd, np.abs(q - x[:, None]).max(), np.abs(qd - v[:, None])[-1].max()) for q, qd in seen]
        return span / np.array(counts), found, runs

    def arm(self, columns, place):
        """All coordinates and rates of an arm in the last frame."""
        joints, out = self.runner.model.joints, []
        for name in ARM_JOINTS:
            j = joints.name.index(f"{name}_{place}")
            for key, start in (("q", joints.q_start), ("qd", joints.qd_start)):
                out.append(columns[f"frames/joint_{key}"][-1, 0, start[j] : start[j + 1]])
        return np.concatenate(out)

    def seen(self, columns, law, name):
        model, kind = self.runner.model, self.kind_of[name]
        j = model.joints.name.index(name)
        (a, b), (c, d) = model.joints.q_start[j : j + 2], model.joints.qd_start[j : j + 2]
        q, qd = columns["frames/joint_q"][:, 0, a:b], columns["frames/joint_qd"][:, 0, c:d]
        q, qd = joint_laws.seen_of(q, qd, kind)
        one = kind == "distance" and (LAWS | SMOOTH_LAWS)[law].field == "limit"
        return (q[:, :1], qd[:, :1]) if one else (q, qd)


@pytest.fixture(scope="module", params=[
    name if name == "implicit" else pytest.param(name, marks=pytest.mark.slow) for name in CASES])  # fmt: skip
def case(request):
    return request.param


@pytest.fixture(scope="module")
def trial(tmp_path_factory, case):
    """Trial of a case: the tests of one case follow each other."""
    return Trial(tmp_path_factory.mktemp("orders"), *CASES[case])


def least(errors):
    return np.maximum(errors, 1e-300)


def test_order_two_while_pieces_stand(trial):
    assert {law for law, _ in trial.names} == CLOSED.keys()
    moved = 0
    for law, name in trial.names:
        if law == "bump":
            continue
        for errors in zip(*((x, v) for _q, _qd, x, v in trial.smooth[name]), strict=True):
            assert errors[-1] < NONE or slope(trial.steps, least(errors)) > 2 - ORDER_SLACK, (name, errors)
            moved += errors[-1] > NONE
    assert moved > len(trial.names) / 3


def test_laws_that_turn_an_arm_in_space(trial, case):
    """Order two, and the tree and its loops agree where steps vanish."""
    limits, errors = [], []
    for coarse, middle, fine in trial.arms.values():
        ratio = np.linalg.norm(coarse - middle) / np.linalg.norm(middle - fine)
        assert ratio > 8 if case == "rk4" else FOURTH[0] < ratio < FOURTH[1], ratio
        assert np.abs(fine).max() > 0.5
        limits.append(fine + (fine - middle) / 3)
        errors.append(np.abs(middle - fine).max())
    assert np.abs(limits[0] - limits[1]).max() < 0.1 * max(errors)


def test_order_one_where_a_law_switches(trial):
    for law, name in trial.names:
        if law in SWITCHES:
            for h, (_q, _qd, x, v) in zip(trial.whole_steps, trial.whole[name], strict=True):
                assert x < X_PER_STEP * h, (name, h, x)
                assert v < V_PER_STEP * h, (name, h, v)


def test_a_limit_that_is_not_reached_changes_nothing(trial):
    pairs = [(name, name.replace("calm", "servo")) for law, name in trial.names if law == "calm"]
    assert pairs
    for name, plain in pairs:
        for one, other in zip(trial.smooth[name], trial.smooth[plain], strict=True):
            assert max(np.abs(a - b).max() for a, b in zip(one[:2], other[:2], strict=True)) < LIMIT_CHANGES, name
