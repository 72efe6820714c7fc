"""No field of a joint is ignored: each is refused by name, warned of, or changes the motion, in every solver.

The cells are those of the code: every joint type, every field of the schema, every mode of a drive, in the tree and outside.
"""

from functools import cache

import numpy as np
import pytest
from support.joint_cells import FIELDS, judged, names_not_covered

import simcli as package
from simcli.cli import doorman
from simcli.errors import Exit
from simcli.spec.honours.drives import READS
from simcli.spec.honours.joint_fields import JOINTS
from simcli.spec.names import dofs

ALL = [(solver, outside) for solver in sorted(JOINTS) for outside in (False, True)]
# A scene of cells takes seconds to judge: half of them are left to the slow run, each solver and each place being in both.
OF_CELLS = pytest.mark.parametrize(
    ("solver", "outside"),
    [pytest.param(*one, marks=pytest.mark.slow if k % 4 in (1, 2) else (), id=f"{one[0]}-{'loop' if one[1] else 'tree'}")
     for k, one in enumerate(ALL)],
)  # fmt: skip
SEEN = 1e-7  # [m, rad, m/s, rad/s]: far above rounding, far below what the values of the cells do in 60 ms
cells_of = cache(judged)


def test_every_field_of_the_schema_has_a_cell():
    assert names_not_covered() == set()


@OF_CELLS
def test_what_is_refused_is_named(solver, outside):
    """The fault stands at the field or at the joint's type, and names what is wrong."""
    scene, refused = cells_of(solver, outside)
    assert len(scene.cells) + len(refused) == len(FIELDS) * len(dofs.TYPES)
    for (kind, name), faults in refused.items():
        key = name.split(".")[0]
        named = [fault for fault in faults if f".{key}" in fault.where.path or f"`{key}`" in fault.message
                 or ".type" in fault.where.path or ".axes" in fault.where.path]  # fmt: skip
        assert named, (kind, name, faults)
        assert all(fault.hint for fault in named), (kind, name, faults)


@OF_CELLS
def test_a_drive_takes_what_its_mode_reads_and_nothing_else(solver, outside):
    scene, refused = cells_of(solver, outside)
    for kind in JOINTS[solver].types & (JOINTS[solver].loop if outside else JOINTS[solver].tree)["drive"]:
        if outside != (kind in dofs.NEVER_TREE) and kind in dofs.NEVER_TREE:
            continue
        for mode, read in READS.items():
            for key in ("target", "target_velocity", "stiffness", "damping"):
                cell = (kind, f"drive.{mode}.{key}")
                assert (cell in scene.cells) == (key in read), (cell, refused.get(cell))


@pytest.mark.slow
@pytest.mark.parametrize(("solver", "outside"), ALL)
def test_what_is_taken_changes_the_motion(solver, outside, tmp_path):
    scene, _ = cells_of(solver, outside)
    path, out = tmp_path / "cells.yaml", tmp_path / "cells.h5"
    path.write_text(scene.text(solver))
    words = ["run", str(path), "-o", str(out), "-q", "--device", "cpu"]
    assert doorman.run_command(words, debug=False, as_json=False) == Exit.OK
    with package.open(out) as run:

        def seen(name):
            joint, body = run.joint(name), run.body(name)
            columns = (joint.q, joint.qd, body.position, body.orientation, body.velocity, body.angular_velocity)
            return np.concatenate([np.nan_to_num(np.ravel(column[:])) for column in columns])

        silent = [cell for cell, (having, without) in scene.cells.items()
                  if not np.abs(seen(having) - seen(without)).max() > SEEN]  # fmt: skip
    assert silent == []
