"""What overlaps where a run begins: depths as the narrow phase of a run finds them, and what `simcli check` says of it."""

import json

import numpy as np
import pytest
from support.contacts import SHAPES, Bench, read_model, scene, terrain
from support.device import live_device

from simcli import rotations as rot
from simcli.cli.doorman import run_command
from simcli.errors import Exit
from simcli.model.contact.overlaps import SLIGHT_OVERLAP, find_overlaps
from simcli.model.tables import ShapeKind

WORLDS = 12
KINDS = sorted({*SHAPES} - {"point"})
NEAR, OVER = 2e-6, 1e-4  # [m]: how well the narrow phase knows depths of round shapes, and how much more the host may find
PLANE = "{type: plane, normal: [0.1, -0.2, 1], offset: -0.1}"
HILLS = terrain([[0.0, 0.2, -0.1], [0.3, 0.0, 0.2], [-0.2, 0.1, 0.0]], (2, 2))


def crowd(folder, ground):
    """A shape of every kind on a free body above a ground; random poses of the bodies, by world and coordinate."""
    model = read_model(folder, scene({"ground": ground}, {name: {"s": SHAPES[name]} for name in KINDS}))
    rng = np.random.default_rng(1)
    q = np.concatenate((rng.uniform(-0.35, 0.35, (WORLDS, len(KINDS), 3)),
                        rot.unit(rng.normal(size=(WORLDS, len(KINDS), 4)))), axis=2)  # fmt: skip
    model.__dict__["joint_q"] = q.reshape(WORLDS, -1)
    return model, q


@pytest.mark.parametrize("ground", [PLANE, HILLS], ids=["plane", "terrain"])
def test_depths_are_those_of_the_narrow_phase(ground, tmp_path, all_honoured):
    """All kinds of shapes in each other's way, world by world; of terrain which shapes reach it."""
    model, q = crowd(tmp_path, ground)
    body = model.shapes.body
    at = np.where((body >= 0)[:, None], q[:, np.maximum(body, 0)], (0, 0, 0, 0, 0, 0, 1))
    bench = Bench(model, live_device(), WORLDS)
    seen = bench.run(at)
    bench.destroy()
    compared = 0
    for w in range(WORLDS):
        model.__dict__["joint_q"] = q[w].reshape(1, -1)
        found = {one.shapes: one.depth for one in find_overlaps(model)}
        for a, b in zip(*(side.tolist() for side in model.contacts.pairs[:2]), strict=True):
            mine = (seen["shape_a"][w] == a) & (seen["shape_b"][w] == b)
            deepest = float(-seen["gap"][w][mine].min(initial=0.0))
            if ShapeKind.HEIGHTFIELD in model.shapes.kind[[a, b]]:
                if deepest > 0.05:
                    assert (a, b) in found, (w, model.shapes.name[a], model.shapes.name[b])
                elif not deepest:
                    assert (a, b) not in found, (w, model.shapes.name[a], model.shapes.name[b])
            else:
                off = found.get((a, b), 0.0) - deepest
                assert -NEAR < off < OVER, (w, model.shapes.name[a], model.shapes.name[b])
            compared += deepest > SLIGHT_OVERLAP
    assert compared > WORLDS * len(KINDS)


def test_worlds_are_counted_and_the_deepest_is_named(tmp_path, all_honoured):
    model, q = crowd(tmp_path, PLANE)
    every = {one.bodies: one for one in find_overlaps(model)}
    alone = []
    for w in range(WORLDS):
        model.__dict__["joint_q"] = q[w].reshape(1, -1)
        alone.append({one.bodies: one.depth for one in find_overlaps(model)})
    for bodies, one in every.items():
        depths = [depth.get(bodies, 0.0) for depth in alone]
        assert (one.depth, one.world, one.n_worlds) == (max(depths), int(np.argmax(depths)), np.count_nonzero(depths))


BALL = "{mass: 1, inertia: {diag: [0.01, 0.01, 0.01]}, pose: {xyz: [%s, 0, %s]}, shapes: {s: {type: sphere, radius: 0.1%s}}}"
CHECKED = """
simcli: 1
params: {{x: 0.15}}
world: {{shapes: {{floor: {{type: plane}}}}}}
bodies: {{a: {a}, b: {b}, c: {c}}}
solver: {{type: {solver}}}
{more}
"""


def checked(folder, capsys, solver="generalized", more="", margin="", x="'${x}'"):
    """Exit code of `check`, and what it says by code."""
    path = folder / "s.yaml"
    low = 0.2 if solver == "affine" else 0.1  # a barrier ends worlds in which surfaces touch
    a, b, c = (BALL % (at, z, margin) for at, z in ((0, 0.5), (x, 0.5), (2, low)))
    path.write_text(CHECKED.format(a=a, b=b, c=c, solver=solver, more=more))
    code = run_command(["check", str(path), "--json"], debug=False, as_json=True)
    (file,) = json.loads(capsys.readouterr().out)["files"]
    return code, {fault["code"]: fault for fault in file["faults"]}, file


@pytest.mark.parametrize("solver", ["generalized", "maximal", "natural"])
def test_check_warns_of_overlaps_and_says_what_takes_them_out(solver, tmp_path, capsys):
    """0.05 m of two balls; a third one rests on the floor, which is no overlap."""
    code, told, _ = checked(tmp_path, capsys, solver)
    assert (code, told.keys()) == (Exit.OK, {"SC485"})
    assert "`a` and `b` overlap by 0.05 m at the start" in told["SC485"]["message"]
    line = told["SC485"]["hint"].partition("write ")[2]
    assert line == "contact: {exclude: [[a, b]]}"
    assert checked(tmp_path, capsys, solver, line)[:2] == (Exit.OK, {})


def test_check_of_affine_bodies_says_what_ends_their_worlds(tmp_path, capsys):
    code, told, _ = checked(tmp_path, capsys, "affine")
    assert (code, set(told)) == (Exit.NEGATIVE, {"SC631"})
    batch = "batch: {worlds: 2, vary: {params.x: {list: [0.15, 0.5]}}}"
    code, told, _ = checked(tmp_path, capsys, "affine", batch)
    assert (code, told["SC631"]["severity"]) == (Exit.OK, "warning")


def test_check_looks_at_all_worlds_and_heeds_margins_joints_and_switches(tmp_path, capsys):
    batch = "batch: {worlds: 3, vary: {params.x: {list: [0.5, 0.15, 0.19]}}}"
    _, told, _ = checked(tmp_path, capsys, more=batch)
    assert "by 0.05 m at the start in 2 of 3 worlds, deepest in number 1" in told["SC485"]["message"]
    for more, margin, x, is_told in (
        ("", ", margin: 0.03", 0.25, False), ("", ", margin: 0.03", 0.19, True), ("", "", 0.2, False),
        ("joints: {j: {type: ball, parent: a, child: b}}", "", 0.15, False),
        ("joints: {j: {type: ball, parent: a, child: b, enabled: false}}", "", 0.15, True),
        ("contact: {enabled: false}", "", 0.15, False),
    ):  # fmt: skip
        _, told, _ = checked(tmp_path, capsys, more=more, margin=margin, x=x)
        assert ("SC485" in told) == is_told, (more, margin, x)


IDLE = """
simcli: 1
{world}
bodies:
  a: {{mass: 1, inertia: {{diag: [1, 1, 1]}}, shapes: {{s: {{type: sphere, radius: 0.1{collide}}}}}}}
  b: {{mass: 1, inertia: {{diag: [1, 1, 1]}}, pose: {{xyz: [0, 0, 1]}}, shapes: {{s: {{type: sphere, radius: 0.1}}}}}}
joints: {{base: {{type: fixed, parent: world, child: a}}, hinge: {{type: revolute, parent: a, child: b}}}}
{more}
"""


@pytest.mark.parametrize(("words", "idle"), [
    ({}, []), ({"collide": ", collide: true"}, ["a/s", "b/s"]), ({"more": "contact: {capacity: 5}"}, ["a/s", "b/s"]),
    ({"more": "solver: {contact: {tolerance: 1e-9}}"}, ["a/s", "b/s"]), ({"more": "contact: {enabled: false}"}, []),
    ({"world": "world: {shapes: {floor: {type: plane, offset: -1}}}"}, ["a/s"]),
])  # fmt: skip
def test_shapes_that_touch_nothing_are_named_and_warned_of_where_contact_is_asked_for(words, idle, tmp_path, capsys):
    path = tmp_path / "s.yaml"
    path.write_text(IDLE.format(**{"world": "", "collide": "", "more": ""} | words))
    assert run_command(["check", str(path), "--json"], debug=False, as_json=True) == Exit.OK
    (file,) = json.loads(capsys.readouterr().out)["files"]
    named = ["a/s"] if "world" in words else ["a/s", "b/s"]
    assert file["idle_shapes"] == named
    told = [fault["message"] for fault in file["faults"] if fault["code"] == "SC486"]
    assert told == ([f"{', '.join(f'`{name}`' for name in idle)} can touch nothing"] if idle else [])
    assert run_command(["show", str(path), "--tree"], debug=False, as_json=False) == Exit.OK
    assert f"shapes that can touch nothing: {', '.join(named)}" in capsys.readouterr().out
