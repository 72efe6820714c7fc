"""`analysis.mechanics` and `run_states` without the command line: worlds in their seats, GPU code, steps undone."""

from dataclasses import replace

import numpy as np
import pytest
from support.device import live_device
from support.random_models import TREE_TYPES, random_mechanism
from support.zoo import random_states, zoo

from simcli import rotations as rot
from simcli.analysis.mechanics.rounds import Mechanics
from simcli.analysis.states.portions import frame_range
from simcli.errors import UsageError
from simcli.kernels.device.runtime import start_device
from simcli.model.assemble import assemble
from simcli.model.tables import LinkKind
from simcli.model.tree.reference import link_poses
from simcli.pipeline import build_model, read_scene
from simcli.solvers.tree.inverse import StepAlgorithms

AGREEMENT = 1e-12  # relative: the same operations in another order of lanes
ROUNDING = 1e-14  # [m, rad] of a step of 0.1 s, undone
N_WORLDS = 6  # a full pack of lanes and a rest
CALLS = {"forward_kinematics": 2, "inverse_dynamics": 3, "mass_matrix": 1, "jacobian": 1}


def varied_model(seed=2):
    rng = np.random.default_rng(seed)
    return assemble(random_mechanism(rng, 8, TREE_TYPES, floating=True, n_worlds=N_WORLDS, vary=("bodies",)))


def of_world(model, world):
    """The same mechanism with the bodies of one world."""

    def pick(table, *names):
        return replace(table, **{name: getattr(table, name)[world : world + 1] if len(getattr(table, name)) > 1
                                 else getattr(table, name) for name in names})  # fmt: skip

    return replace(model, n_worlds=1, bodies=pick(model.bodies, "mass", "com", "inertia"),
                   links=pick(model.links, "mass", "com", "inertia", "body_rotation", "body_offset"),
                   joint_q=model.joint_q[:1], joint_qd=model.joint_qd[:1])  # fmt: skip


def size(values):
    return max(np.abs(values).max(initial=0.0), 1e-300)


@pytest.mark.slow
def test_states_in_any_order_get_the_bodies_of_their_worlds(monkeypatch):
    """Crowded and empty worlds, more rounds than one call takes."""
    monkeypatch.setattr("simcli.analysis.mechanics.rounds.CALL_STATES", 20)
    model, rng = varied_model(), np.random.default_rng(3)
    world = rng.choice([0, 1, 1, 1, 1, 5, 3], 40)
    states = random_states(model, len(world), rng)
    device = live_device()
    mechanics = Mechanics(model, device)
    found = {name: mechanics(name, world, *states[:n]) for name, n in CALLS.items()}
    mechanics.close()
    for w in (0, 1, 3, 5):
        mine = np.flatnonzero(world == w)
        alone = Mechanics(of_world(model, w), device)
        for name, n in CALLS.items():
            wanted = alone(name, np.zeros(len(mine), int), *(a[mine] for a in states[:n]))
            for a, b in zip(found[name], wanted, strict=True):
                assert np.abs(a[mine] - b).max() < AGREEMENT * size(b), (name, w)
        alone.close()
    efforts = found["inverse_dynamics"][0]
    assert len(np.unique(efforts[:, 0])) == len(world)


@pytest.mark.slow
def test_the_code_of_a_gpu_agrees(tmp_path):
    (tmp_path / "zoo.yaml").write_text(zoo())
    model = build_model(*read_scene(tmp_path / "zoo.yaml"))
    states = random_states(model, 5, np.random.default_rng(4))
    world, when = np.zeros(5, int), np.zeros((5, 2))
    found = []
    for like_gpu in (False, True):
        mechanics = Mechanics(model, start_device("cpu", "float64", threads=1, like_gpu=like_gpu))
        assert mechanics.has_external
        results = [part for name, n in CALLS.items() for part in mechanics(name, world, *states[:n])]
        results += mechanics("external_forces", world, *states[:2], when)
        found.append([np.array(part) for part in results])
        mechanics.close()
    for a, b in zip(*found, strict=True):
        assert size(a) > 0.1
        assert np.abs(a - b).max() < AGREEMENT * size(a)


def test_a_step_is_undone_for_every_joint():
    """q (+) h qd, spelled as the tree chart states it, then (-) h qd."""
    model, rng, h = varied_model(7), np.random.default_rng(8), 0.1
    assert set(model.links.kind) >= {LinkKind.HELIX, LinkKind.BALL, LinkKind.FREE}
    q, rate, _ = random_states(model, N_WORLDS, rng)
    after = q.copy()
    for i in range(model.n_links):
        start, d, kind = model.links.q_start[i], model.links.qd_start[i], model.links.kind[i]
        if kind == LinkKind.HELIX:
            after[:, start] += h * rate[:, d]
        elif kind == LinkKind.BALL:
            after[:, start : start + 4] = turned(q[:, start : start + 4], h * rate[:, d : d + 3])
        elif kind == LinkKind.FREE:
            quat = q[:, start + 3 : start + 7]
            end = turned(quat, h * rate[:, d + 3 : d + 6])
            com = model.links.com[:, i]
            at = q[:, start : start + 3] + rot.quat_rotate(quat, com) + h * rate[:, d : d + 3]
            after[:, start : start + 3], after[:, start + 3 : start + 7] = at - rot.quat_rotate(end, com), end
    mechanics = Mechanics(model, live_device(), StepAlgorithms)
    times = np.full((N_WORLDS, 1), h)
    back = mechanics("starts_of_steps", np.arange(N_WORLDS), after, rate, 0.0 * rate, times)[0]
    mechanics.close()
    assert np.abs(after - q).max() > 0.1
    _, there = link_poses(model.links, q)
    _, found = link_poses(model.links, back)
    assert np.abs(back - q).max() < ROUNDING * 10
    assert np.abs(there - found).max() < ROUNDING * 100  # levers of some metres


def turned(quat, turn):
    """Exponential of a rotation vector, times a quaternion."""
    angle = np.linalg.norm(turn, axis=1, keepdims=True)
    return rot.quat_multiply(np.hstack([np.sin(angle / 2) * turn / angle, np.cos(angle / 2)]), quat)


@pytest.mark.parametrize("text", ["3", "-1", "-3", "2:5", ":-1", "::2", "4:100", "0", ":"])
def test_frames_are_chosen_as_python_slices(text):
    numbers = list(range(7))
    words = [int(word) if word else None for word in text.split(":")]
    wanted = [numbers[words[0]]] if len(words) == 1 else numbers[slice(*words)]
    assert list(frame_range(text, 7)) == wanted


@pytest.mark.parametrize("text", ["", "x", "1:2:3:4", "1.5", "::0", "::-2"])
def test_what_are_no_frames_is_said(text):
    with pytest.raises(UsageError, match="--frames"):
        frame_range(text, 7)
