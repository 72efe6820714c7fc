"""Keys that choose how one solver works are noted by the others: one scene serves all four."""

from dataclasses import fields

import numpy as np
import pytest
from support.scenes import scene

from simcli.errors import SceneError
from simcli.model import build_worlds
from simcli.spec import resolve
from simcli.spec.honours.solver_fields import BUILT, CHOICES
from simcli.spec.resolve import warnings

# A scene for every row of CHOICES: what it writes, where that is noted, and the solvers that have the key at all.
WRITTEN = {
    "bodies.*.natural": ("natural: {kind: 2P2V, points: [a, b]}", "bodies.rod.natural", BUILT),
    "solver.contact.linear": ("contact: {linear: sparse}", "solver.contact.linear", BUILT - {"affine"}),
}
ROD = """bodies:
  rod: {{mass: 1, inertia: {{diag: [0.1, 0.1, 0.1]}}, points: {{a: [0, 0, 0], b: [1, 0, 0]}}{body}}}
solver: {{type: {solver}, dt: 1.0e-3{options}}}
"""


def text_of(path, solver):
    """The scene that makes the choice of a row."""
    written = f", {WRITTEN[path][0]}"
    on_body = path.startswith("bodies")
    options = ", integrator: moreau" * (solver == "natural") + written * (not on_body)
    return ROD.format(solver=solver, body=written * on_body, options=options)


@pytest.mark.parametrize("row", CHOICES, ids=lambda row: row.path)
@pytest.mark.parametrize("solver", sorted(BUILT))
def test_choices_are_noted_where_they_stand(row, solver):
    _, path, readers = WRITTEN[row.path]
    if solver not in readers:
        return
    document = scene(text_of(row.path, solver))
    resolve(document)
    noted = [fault for fault in warnings(document) if fault.code == "SC502"]
    assert [fault.where.path for fault in noted] == ([] if solver in row.solvers else [path])
    assert all(fault.where.line == (3 if path.startswith("bodies") else 4) for fault in noted)


@pytest.mark.parametrize("solver", sorted(BUILT - {"natural"}))
def test_bodies_are_those_of_the_scene_without_the_choice(solver):
    """The affine solver has natural coordinates of its own, whose kind is not that of the scene."""
    tables = []
    for kind in ("", ", natural: 1P1V"):
        document = scene(ROD.format(solver=solver, body=kind, options=""))
        tables.append(build_worlds(document, resolve(document)).bodies)
    for field in fields(tables[0]):
        np.testing.assert_array_equal(*(getattr(table, field.name) for table in tables))


@pytest.mark.parametrize("solver", sorted(BUILT - {"natural"}))
def test_bodies_that_yield_are_refused(solver):
    """Compliance is no choice: it changes the motion."""
    text = ROD.format(solver=solver, body=", natural: {kind: 1P3V, compliance: 1.0e-3}", options="")
    with pytest.raises(SceneError) as caught:
        resolve(scene(text))
    found = [(fault.code, fault.where.path) for fault in caught.value.faults if fault.severity == "error"]
    assert found == [("SC501", "bodies.rod.natural.compliance")]
