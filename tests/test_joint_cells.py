"""No field of a joint is ignored: each is refused by name, warned of, or changes the motion, in every solver.

The cells are those of the code: every joint type, every field of the schema, every mode of a drive, in the tree and outside.
"""

import numpy as np
import pytest
from support.joint_cells import FIELDS, judged, names_not_covered

from simcli.solvers import SOLVERS, RunPlan
from simcli.spec.honours.drives import READS
from simcli.spec.honours.joint_fields import JOINTS
from simcli.spec.names import dofs

H, STEPS = 2e-3, 30  # [s], step, and how many
SEEN = 1e-7  # [m, rad, m/s, rad/s]: far above rounding, far below what the values of the cells do in these steps
every_solver = pytest.mark.parametrize("solver", sorted(JOINTS))


def test_every_field_of_the_schema_has_a_cell():
    assert names_not_covered() == set()


@every_solver
def test_what_is_refused_is_named(solver):
    """The fault stands at the field or at the joint's type, and names what is wrong."""
    scene, refused = judged(solver)
    assert len(scene.cells) + len(refused) == 2 * len(FIELDS) * len(dofs.TYPES)
    for (kind, name, outside), faults in refused.items():
        key = {"effort": "joint", "torsion": "joint"}.get(name.split(".")[0], name.split(".")[0])  # of a force
        named = [fault for fault in faults if f".{key}" in fault.where.path or f"`{key}`" in fault.message
                 or ".type" in fault.where.path or ".axes" in fault.where.path]  # fmt: skip
        assert named, (kind, name, outside, faults)
        assert all(fault.hint for fault in named), (kind, name, outside, faults)


@every_solver
@pytest.mark.parametrize("outside", [False, True], ids=["tree", "loop"])
def test_a_drive_takes_what_its_mode_reads_and_nothing_else(solver, outside):
    scene, refused = judged(solver)
    for kind in JOINTS[solver].types & (JOINTS[solver].loop if outside else JOINTS[solver].tree)["drive"]:
        if outside != (kind in dofs.NEVER_TREE) and kind in dofs.NEVER_TREE:
            continue
        for mode, read in READS.items():
            for key in ("target", "target_velocity", "stiffness", "damping"):
                cell = (kind, f"drive.{mode}.{key}", outside)
                assert (cell in scene.cells) == (key in read), (cell, refused.get(cell))


@every_solver
def test_what_is_taken_changes_the_motion(solver, device):
    """All cells in one run, which shows coordinates and bodies at its start and at its end."""
    scene, _ = judged(solver)
    model = scene.model
    plan = RunPlan(H, STEPS, 1, frozenset(("joints", "bodies")))
    run = SOLVERS[solver](model, scene.options, plan, device)
    blocks = [run.initial(), run.advance(1)]
    columns = {name: np.concatenate([block.columns[f"frames/{name}"] for block in blocks])[:, 0]
               for name in ("joint_q", "joint_qd", "body_q", "body_qd")}  # fmt: skip
    joints, bodies = ({name: k for k, name in enumerate(names)} for names in (model.joints.name, model.bodies.name))

    def seen(name):
        j, body = joints[name], bodies[name]
        q, qd = (slice(start[j], start[j + 1]) for start in (model.joints.q_start, model.joints.qd_start))
        where = {"joint_q": q, "joint_qd": qd, "body_q": body, "body_qd": body}
        parts = [columns[name][:, place] for name, place in where.items()]
        return np.concatenate([np.nan_to_num(np.ravel(part)) for part in parts])

    silent = [cell for cell, (having, without) in scene.cells.items()
              if not np.abs(seen(having) - seen(without)).max() > SEEN]  # fmt: skip
    assert scene.cells
    assert silent == []
