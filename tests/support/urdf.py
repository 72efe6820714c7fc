"""Imported robots beside pinocchio."""

import json
import re

import numpy as np
import pytest

from simcli.cli.process import run_command


def agreement(model, scene, folder, held=(), seed=1):
    """Largest relative differences of the mass matrix and of inverse dynamics, at random q, qd, qdd.

    Args:
        model: URDF file.
        scene: that was made of it.
        folder: for what the commands write.
        held: joints of the source that the scene has not; they stand still.
        seed: of the state.

    Returns:
        Of the mass matrix, of the efforts; 0 where nothing moves.
    """
    pin = pytest.importorskip("pinocchio")
    peer = pin.buildModelFromUrdf(str(model))
    data, rng, q = peer.createData(), np.random.default_rng(seed), pin.neutral(peer)
    angle, index = {}, {}
    for name, joint in zip(peer.names[1:], peer.joints[1:], strict=False):
        value = 0.0 if name in held else rng.uniform(-1.0, 1.0)
        q[joint.idx_q : joint.idx_q + joint.nq] = [value] if joint.nq == 1 else [np.cos(value), np.sin(value)]
        if name not in held:
            given = re.sub(r"[^A-Za-z0-9_-]", "_", name)  # as an import calls it
            angle[given], index[given] = float(value), joint.idx_v
    v, a = np.zeros((2, peer.nv))
    v[list(index.values())], a[list(index.values())] = rng.uniform(-1.0, 1.0, (2, len(index)))
    if not angle:
        return 0.0, 0.0

    def words(numbers):
        return ",".join(f"{name}={float(numbers[name])!r}" for name in angle)

    def command(*line):
        path = folder / "answer.json"
        assert run_command([*map(str, line), "-o", str(path), "--force"], debug=True, as_json=False) == 0
        return json.loads(path.read_text())

    found = command("mass-matrix", scene, "--q", words(angle))
    order = [index[name] for name in found["labels"]["NV"]]
    M = pin.crba(peer, data, q)
    M = (np.triu(M) + np.triu(M, 1).T)[np.ix_(order, order)]
    matrix = np.reshape(found["mass_matrix"][0], M.shape)
    rates, changes = ({name: numbers[k] for name, k in index.items()} for numbers in (v, a))
    found = command("id", scene, "--q", words(angle), "--qd", words(rates), "--qdd", words(changes), "--no-external")
    effort, theirs = np.ravel(found["joint_effort"][0]), pin.rnea(peer, data, q, v, a)[order]
    return np.abs(matrix - M).max() / np.abs(M).max(), np.abs(effort - theirs).max() / np.abs(theirs).max()
