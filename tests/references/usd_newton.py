"""Writes usd_newton.json: what Newton 1.8.0 reads of the files of support/usd_files.py. Run it where Newton is:

PYTHONPATH=tests python tests/references/usd_newton.py     (pip install "newton[sim,importers]==1.8.0" usd-core)
"""

import json
import tempfile
from pathlib import Path

import newton
import numpy as np
from support.usd_files import write_arm, write_loads

# [rad, m] coordinates at which poses and the mass matrix are asked; of the ball a quaternion x y z w.
Q = {"turn": [0.4], "reach": [0.15], "wrist": [0.2, -0.4, 0.4, 0.8], "two": [0.03, 0.3, -0.2]}


def rows(array):
    array = np.asarray(array, float).round(9)
    return np.where(np.isfinite(array), array, None).tolist()


def read(write, folder):
    path = Path(folder) / f"{write.__name__}.usda"
    write(path)
    builder = newton.ModelBuilder()
    builder.add_usd(str(path))
    model = builder.finalize(device="cpu")
    names = [label.rpartition("/")[2] for label in model.body_label]
    mass, com, inertia = (getattr(model, f"body_{key}").numpy() for key in ("mass", "com", "inertia"))
    found = {"bodies": {}, "joints": {}}
    start = model.joint_q_start.numpy()
    state = model.state()
    for k, name in enumerate(names):
        found["bodies"][name] = {"mass": rows(mass[k]), "com": rows(com[k]), "inertia": rows(inertia[k])}
    newton.eval_fk(model, model.joint_q, model.joint_qd, state)
    for k, name in enumerate(names):
        found["bodies"][name] |= {"pose": rows(state.body_q.numpy()[k]), "twist": rows(state.body_qd.numpy()[k])}
    tables = {
        "lower": "joint_limit_lower", "upper": "joint_limit_upper", "stiffness": "joint_target_ke",
        "damping": "joint_target_kd", "most": "joint_effort_limit", "axis": "joint_axis",
    }  # fmt: skip
    at = model.joint_qd_start.numpy()
    q = model.joint_q.numpy()
    for j, label in enumerate(model.joint_label):
        name, own = label.rpartition("/")[2], slice(at[j], at[j + 1])
        if name not in ("foot", *Q):
            continue
        ends = [model.joint_parent.numpy()[j], model.joint_child.numpy()[j]]
        found["joints"][name] = {
            "type": newton.JointType(int(model.joint_type.numpy()[j])).name,
            "ends": ["world" if end < 0 else names[end] for end in ends],
            "frames": [rows(model.joint_X_p.numpy()[j]), rows(model.joint_X_c.numpy()[j])],
            "targets": rows(model.joint_target_q.numpy()[start[j] : start[j + 1]]),
        } | {key: rows(getattr(model, column).numpy()[own]) for key, column in tables.items()}
        if name in Q:
            q[start[j] : start[j + 1]] = Q[name]
    if found["joints"]:
        model.joint_q.assign(q)
        newton.eval_fk(model, model.joint_q, model.joint_qd, state)
        found["at"] = {"q": Q, "poses": {name: rows(state.body_q.numpy()[k]) for k, name in enumerate(names)}}
        matrix = newton.eval_mass_matrix(model, state).numpy()[0]
        order = [name for name in (one.rpartition("/")[2] for one in model.joint_label) if name in Q]
        found["at"] |= {"order": order, "mass_matrix": rows(matrix[: at[-1], : at[-1]])}
    return found


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        found = {write.__name__: read(write, folder) for write in (write_arm, write_loads)}
    found["version"] = newton.__version__
    Path(__file__).with_suffix(".json").write_text(json.dumps(found, indent=1) + "\n")
