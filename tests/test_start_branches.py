"""Loops begin on the branch on which they are drawn, and hold what is written in an order, as far as they have freedoms."""

import json
from pathlib import Path

import numpy as np
import pytest
from support.linkages import body_at, elbow, four_bar_angles, four_bar_of, slide_of, slider_crank_of, turn_about
from support.process import simcli as command
from support.scenes import scene
from support.starting import INTEGRATORS, dense_rows, together

import simcli
from simcli.exchange.importing import load_scene
from simcli.model import build_worlds
from simcli.model.closure.postures import gaps_at
from simcli.spec import resolve
from simcli.spec.document.overrides import VARY, Override

SAME = 1e-9  # [m, rad] of a start from its closed form: coordinates near a fold, where a gap of 1e-15 is 3e-8, are not asked
REACHED = 2e-5  # [rad] of the end of a way that goes as far as it can: steps of 1e-6, and their square root at a fold
ANGLES = np.linspace(-3, 3, 9)
OBLIQUE = turn_about([1, 2, 3], 0.7)
GRASHOF, NEARLY = (0.95, 0.41, 0.71, 0.79), (0.9, 0.4, 0.8, 0.7001)  # ground, crank, coupler, rocker; links that nearly fold
BARS = {  # prefix: lengths, angle of the drawing, side, plane, joint that closes it
    "u": (GRASHOF, 0.4, 1, None, "c"),
    "v": (GRASHOF, -2.0, -1, OBLIQUE, "c"),
    "w": (NEARLY, 1.3, 1, OBLIQUE, "b"),
    "x": (NEARLY, 2.5, -1, None, "d"),
}
CRANKS = {"p": (0.153, 0.306, 0.0, None), "q": (0.2, 0.5, 1.9, OBLIQUE)}  # crank, rod, angle of the drawing, plane


def side_by_side():
    """All linkages in one scene."""
    return [
        *(four_bar_of(name, *rest[:4], loop=rest[4], at=(0, 3 * k, 0)) for k, (name, rest) in enumerate(BARS.items())),
        *(slider_crank_of(name, *rest, at=(5, 3 * k, 0)) for k, (name, rest) in enumerate(CRANKS.items())),
    ]


def worlds_of(parts, vary, worlds=None, **more):
    """The model of a scene whose worlds vary coordinates, or of some of them."""
    count = len(next(iter(vary.values())))
    lists = {f"joints.{name}.q": {"list": [float(x) for x in values]} for name, values in vary.items()}
    batch = {"worlds": count, "vary": lists}
    whole = {}
    for _, joints in parts:
        whole |= joints
    for name in vary:
        whole[name].setdefault("q", 0)
    document = scene(together(*parts, batch=batch, **more))
    return build_worlds(document, resolve(document), worlds, tries_all=True)


def coordinate(model, name):
    """[m, rad], (W,)."""
    values = model.joint_q[:, model.joints.q_start[model.joints.name.index(name)]]
    return np.broadcast_to(values, model.n_worlds)


def angle_between(a, b):
    return np.abs(np.angle(np.exp(1j * (a - b)))).max()


def alone(parts, *sets, **more):
    """The model of one world."""
    document = scene(together(*parts, **more))
    return build_worlds(document, resolve(document), tries_all=True)


def written_moves(model):
    return [(model.joints.name[one.joint], one.world) for one in model.start.moves if one.is_written]


@pytest.fixture(scope="module")
def turned():
    """All linkages at all angles of their cranks, of the first solver."""
    vary = {f"{name}_a": ANGLES for name in (*BARS, *CRANKS)}
    return worlds_of(side_by_side(), vary)


def test_cranks_hold_and_loops_stay_on_the_branch_of_the_drawing(turned):
    """Against closed forms: crank angles to the bit, rockers and slides, also of bars that nearly fold; nothing is told."""
    for name, (lengths, drawn, side, _, loop) in BARS.items():
        assert coordinate(turned, f"{name}_a").tolist() == ANGLES.tolist()
        wanted = np.array([four_bar_angles(lengths, drawn, side, angle) for angle in ANGLES])
        for k, joint in enumerate("bd"):
            if joint != loop:
                assert angle_between(coordinate(turned, f"{name}_{joint}"), wanted[:, k]) < SAME, (name, joint)
    for name, (crank, rod, drawn, _) in CRANKS.items():
        np.testing.assert_allclose(coordinate(turned, f"{name}_d"), slide_of(crank, rod, drawn, ANGLES), atol=SAME, rtol=0)
    assert written_moves(turned) == []
    assert turned.start.faults == turned.start.forks == ()


@pytest.mark.parametrize("solver", INTEGRATORS)
def test_all_solvers_begin_there(turned, solver):
    """To the last bit."""
    vary = {f"{name}_a": ANGLES[::4] for name in (*BARS, *CRANKS)}
    model = worlds_of(side_by_side(), vary, solver={"type": solver, "dt": 1e-3})
    np.testing.assert_array_equal(model.joint_q, turned.joint_q[::4])


def test_the_shipped_slider_crank_begins_ahead_of_its_crank():
    """At 25 angles, drawn at its dead centre: with the block on the drawn side, x = l1 cos + sqrt(l2^2 - l1^2 sin^2)."""
    path = Path(__file__).parents[1] / "scenes" / "slider_crank.yaml"
    angles = np.linspace(-3, 3, 25)
    document = load_scene(path, (f"batch={{worlds: 25, vary: {{joints.shaft.q: {{list: {angles.tolist()}}}}}}}",))
    model = build_worlds(document, resolve(document))
    assert coordinate(model, "shaft").tolist() == angles.tolist()
    np.testing.assert_allclose(coordinate(model, "guide"), slide_of(0.153, 0.306, 0, angles), atol=SAME, rtol=0)
    assert written_moves(model) == []


@pytest.mark.parametrize(
    ("name", "joint", "ends"),
    [("andrews_squeezer", "beta", (-3, 3)), ("bricard", "P0", (-0.3, 1.5)), ("n_fourbar", "A2", (-3, 3))],
)
def test_mechanisms_of_many_loops_follow_one_branch(name, joint, ends):
    """Redundant ones, and one whose other coordinates are all written: over a fine grid nothing jumps, and all is closed."""
    angles = np.linspace(*ends, 41)
    path = Path(__file__).parents[1] / "scenes" / f"{name}.yaml"
    document = load_scene(path, (f"batch={{worlds: 41, vary: {{joints.{joint}.q: {{list: {angles.tolist()}}}}}}}",))
    model = build_worlds(document, resolve(document))
    assert coordinate(model, joint).tolist() == angles.tolist()
    assert np.abs(np.diff(model.joint_q, axis=0)).max() < 4 * (angles[1] - angles[0])
    assert gaps_at(model, model.joint_q).max() < 1e-12


def spatial(R):
    """A spherical four-bar beside a crank that turns a shaft by a universal joint, at an angle of 0.4 rad."""
    second = turn_about([0, 0, 1], 0.2) @ [np.sin(0.5), 0, np.cos(0.5)]
    axes = np.array([[0, 0, 1], second, [0, 0, 0], [np.sin(1), 0, np.cos(1)]])
    across = np.cross(axes[1], axes[3])  # the third axis is 0.8 rad from the second and 0.9 rad from the fourth
    in_plane = np.linalg.solve(np.array([axes[1], axes[3], across]), [np.cos(0.8), np.cos(0.9), 0])
    axes[2] = in_plane + np.sqrt(1 - in_plane @ in_plane) * across / np.linalg.norm(across)
    ends = [R @ (0.5 * axis) for axis in axes]
    links = {f"s{k}": body_at((ends[k] + ends[k + 1]) / 2) for k in range(3)}
    names = ["world", *links, "world"]
    joints = {
        f"s{k}_hinge": {
            "type": "revolute",
            "parent": names[k],
            "child": names[k + 1],
            "at": ends[k].tolist(),
            "axis": (R @ axes[k]).tolist(),
        }
        for k in range(3)
    }
    joints["s3_hinge"] = {
        "type": "revolute",
        "parent": "world",
        "child": "s2",
        "at": ends[3].tolist(),
        "axis": (R @ axes[3]).tolist(),
        "loop": True,
    }
    near, far = R @ [0, 5, 0], R @ [np.cos(0.4), 5 + np.sin(0.4), 0]
    links |= {"in": body_at(near - R @ [0.5, 0, 0]), "out": body_at((near + far) / 2)}
    joints["in_hinge"] = {
        "type": "revolute",
        "parent": "world",
        "child": "in",
        "at": (R @ [-1, 5, 0]).tolist(),
        "axis": (R @ [1, 0, 0]).tolist(),
    }
    joints["out_hinge"] = {
        "type": "cylindrical",
        "parent": "world",
        "child": "out",
        "at": far.tolist(),
        "axis": (R @ [np.cos(0.4), np.sin(0.4), 0]).tolist(),
    }
    cross = [(R @ axis).tolist() for axis in ([0, 0, 1], [-np.sin(0.4), np.cos(0.4), 0])]
    joints["cross"] = {
        "type": "universal",
        "parent": "in",
        "child": "out",
        "at": near.tolist(),
        "loop": True,
        "axes": {"angular": cross},
    }
    return links, joints


@pytest.mark.parametrize("R", [np.eye(3), OBLIQUE], ids=["straight", "oblique"])
def test_spatial_loops_follow_one_branch(R):
    """A shaft behind a universal joint, tan(out) = tan(in) cos(bend) or tan(in) / cos(bend); a spherical four-bar."""
    angles = np.linspace(-3, 3, 31)
    model = worlds_of([spatial(R)], {"s0_hinge": angles, "in_hinge": angles})
    out = model.joint_q[:, model.joints.q_start[model.joints.name.index("out_hinge")] + 1]
    wanted = np.arctan2(np.sin(angles) * np.cos(0.4), np.cos(angles))
    other = np.arctan2(np.sin(angles), np.cos(angles) * np.cos(0.4))
    assert min(angle_between(out, wanted), angle_between(out, other)) < SAME
    for name in ("s1_hinge", "s2_hinge"):
        assert np.abs(np.diff(coordinate(model, name))).max() < 0.5
    assert np.abs(dense_rows(model)[1]).max() < 1e-12
    assert written_moves(model) == []


# Order in which coordinates are held.

DEAD = slider_crank_of("p", 0.2, 0.3, 0.0)  # drawn where its links lie in one line


def dead_centre(**written):
    """That slider-crank with coordinates, or other keys of its joints."""
    bodies, joints = DEAD
    return bodies, {name: {**joint, **written.get(name[2:], {})} for name, joint in joints.items()}


BATCH = "batch"  # path that the batch of the file varies
HELD = {  # what is written of crank and slide, and which of them is held
    "as in the file": ({"a": {"q": 0.5}, "d": {"q": -0.05}}, (), "a"),
    "driven": ({"a": {"q": 0.5}, "d": {"q": -0.05, "drive": {"mode": "position", "stiffness": 1}}}, (), "d"),
    "set": ({"a": {"q": 0.5, "drive": {"mode": "position", "stiffness": 1}}, "d": {"q": 0}}, ("joints.p_d.q=-0.05",), "d"),
    "set in initial": ({"a": {"q": 0.5}, "d": {"q": 0}}, ("initial.joint_q.p_d=[-0.05]",), "d"),
    "a parameter of it": ({"a": {"q": 0.5}, "d": {"q": "${-w}"}}, ("params.w=0.05",), "d"),
    "varied": ({"a": {"q": 0.5}, "d": {"q": 0}}, ("batch={worlds: 2, vary: {joints.p_d.q: {list: [-0.05, -0.05]}}}",), "d"),
    "a parameter of a parameter": ({"a": {"q": 0.5}, "d": {"q": "${v}"}}, ("params.w=0.05",), "d"),
    "a table of parameters": ({"a": {"q": 0.5}, "d": {"q": "${v}"}}, ("params={w: 0.05, v: '${-w}'}",), "d"),
    "a parameter that another place beats": (
        {"a": {"q": 0.5}, "d": {"q": "${v}"}},
        ("params.w=0.07", "initial.joint_q.p_d=-0.05"),
        "d",
    ),
    "a table of initial": ({"a": {"q": 0.5}, "d": {"q": 0}}, ("initial={joint_q: {p_d: -0.05}}",), "d"),
    "a pattern": ({"a": {"q": 0.5}, "d": {"q": 0}}, ("initial.joint_q.*_d=-0.05",), "d"),
    "varied, through a parameter": (
        {"a": {"q": 0.5}, "d": {"q": "${v}"}},
        ("batch={worlds: 2, vary: {params.w: {list: [0.05, 0.05]}}}",),
        "d",
    ),
    "varied beats set": (
        {"a": {"q": 0.1}, "d": {"q": 0}},
        ("joints.p_a.q=0.1", Override(VARY, "joints.p_d.q=-0.05, -0.05")),
        "d",
    ),
    "set beats the batch of the file": (
        {"a": {"q": 0.1}, "d": {"q": 0}, BATCH: "joints.p_a.q"},
        ("joints.p_d.q=-0.05",),
        "d",
    ),
    "prescribed": ({"a": {"q": 0.5}, "d": {"motion": {"position": -0.05}}}, ("joints.p_a.q=0.5",), "d"),
}


@pytest.mark.parametrize("name", HELD)
def test_coordinates_are_held_in_order(tmp_path, name):
    """Prescribed, named, driven, as in the file; the other one is a hint that chooses the branch, and is told.

    Of those that are named the strongest speaker's, by the order of `test_starts_precedence`.
    """
    written, sets, held = HELD[name]
    joints, path = {key: value for key, value in written.items() if key != BATCH}, tmp_path / "held.yaml"
    batch = f"batch: {{worlds: 2, vary: {{{written[BATCH]}: {{list: [0.1, 0.1]}}}}}}\n" if BATCH in written else ""
    path.write_text(f"simcli: 1\nparams: {{w: 0.01, v: '${{-w}}'}}\n{batch}" + together(dead_centre(**joints)))
    document = load_scene(path, sets)
    model = build_worlds(document, resolve(document))
    crank, slide = coordinate(model, "p_a")[0], coordinate(model, "p_d")[0]
    assert (crank == 0.5) == (held == "a")
    assert (slide == -0.05) == (held == "d")
    assert crank > 0.4
    np.testing.assert_allclose(slide, slide_of(0.2, 0.3, 0, crank), atol=SAME, rtol=0)
    told = {model.joints.name[one.joint]: one.reason for one in model.start.moves if one.is_written}
    assert set(told) == {"p_d" if held == "a" else "p_a"}
    assert f"no degree of freedom beside `p_{held}`" in next(iter(told.values()))


@pytest.mark.parametrize("option", ["params.z=0.05", "instances.one.params.w=0.05", "joints.one/p_d.q=-0.05"])
def test_parameters_of_instances_name_coordinates(tmp_path, option):
    """As those of the scene do: the slide is held, whose number comes out of the instance."""
    bodies, joints = dead_centre(a={"q": 0.5}, d={"q": "${-w}"})
    model = {"params": {"w": 0.01}, "bodies": bodies, "joints": joints}
    path = tmp_path / "instance.yaml"
    path.write_text(
        json.dumps(
            {
                "simcli": 1,
                "params": {"z": 0.01},
                "models": {"crank": model},
                "instances": {"one": {"model": "crank", "params": {"w": "${z}"}}},
            }
        )
    )
    document = load_scene(path, (option,))
    assert coordinate(build_worlds(document, resolve(document)), "one/p_d")[0] == -0.05


def test_a_hint_chooses_the_branch_and_moves_nothing_else():
    """A written angle of the rocker, to three digits, on either branch; the held crank to the bit."""
    cranks = [0.0, 0.8, -2.5, 2.0]
    for side in (1, -1):
        wanted = [rocker_of_grashof(side, crank) for crank in cranks]
        model = worlds_of([four_bar_of("u", GRASHOF, 0.4, 1)], {"u_a": cranks, "u_d": np.round(wanted, 3)})
        assert coordinate(model, "u_a").tolist() == cranks
        np.testing.assert_allclose(coordinate(model, "u_d"), wanted, atol=SAME, rtol=0)


def rocker_of_grashof(side, crank):
    """[rad], what its rocker has turned from where it is drawn, on side 1, to a side at a crank angle."""
    D, ends = np.array([GRASHOF[0], 0.0]), (elbow(GRASHOF, 0.4, 1)[1], elbow(GRASHOF, 0.4 + crank, side)[1])
    before, after = (-np.arctan2(*(end - D)[::-1]) for end in ends)
    return after - before


# Drawings at which branches meet.


def test_where_branches_meet_hints_choose_else_it_is_told(tmp_path):
    """A slide that is written at the dead centre, both ways of the crank; a flat parallelogram, whose branches cross."""
    parts = dead_centre(d={"q": -0.05})
    path = tmp_path / "dead.yaml"
    path.write_text("simcli: 1\n" + together(parts))
    checked = command("check", path)
    assert checked.returncode == 0
    assert checked.stderr.count("warning[SC621]") == 1
    assert command("check", "--strict", path).returncode == 1
    ran = command("run", path, "-o", tmp_path / "dead.h5")
    assert "SC621" in ran.stderr
    with simcli.open(tmp_path / "dead.h5") as run:
        assert [(one.code, one.world) for one in run.events if one.severity == 1] == [("SC621", 0)]
        crank = np.ravel(run.joint("p_a").q[0])[0]
    np.testing.assert_allclose(slide_of(0.2, 0.3, 0, crank), -0.05, atol=SAME)
    for sign in (1, -1):
        model = alone([dead_centre(d={"q": -0.05, "drive": {"mode": "position", "stiffness": 1}}, a={"q": 0.3 * sign})])
        assert model.start.forks == ()
        assert coordinate(model, "p_a")[0] * sign > 0.5
    flat = (1, 0.5, 1, 0.5)
    told = worlds_of([four_bar_of("f", flat, 0.0, 1)], {"f_a": [0.7, -0.7, 0]})
    assert [fork.world for fork in told.start.forks] == [0, 1]
    far = worlds_of([four_bar_of("f", flat, 0.0, 1)], {"f_a": [0.1, 1.4, -2.0, 3.0]})  # one branch for near and far angles
    np.testing.assert_allclose(coordinate(far, "f_d"), [0.1, 1.4, -2.0, 3.0], atol=SAME, rtol=0)
    for rocker, wanted in ((0.6, 0.7), (-1.6, -2 * np.arctan2(0.5 * np.sin(0.7), 1 - 0.5 * np.cos(0.7)) - 0.7)):
        model = worlds_of([four_bar_of("f", flat, 0.0, 1)], {"f_a": [0.7, 0.7], "f_d": [rocker, rocker]})
        assert model.start.forks == ()
        np.testing.assert_allclose(coordinate(model, "f_d"), wanted, atol=SAME)


def test_a_way_goes_straight_on_where_branches_cross():
    """A parallelogram passes its flat poses as one: rocker and crank turn alike, the coupler not at all."""
    angles = np.linspace(-4, 4, 33)
    model = worlds_of([four_bar_of("f", (1, 0.5, 1, 0.5), -1.0, 1)], {"f_a": angles})
    np.testing.assert_allclose(coordinate(model, "f_d"), angles, atol=SAME, rtol=0)
    np.testing.assert_allclose(coordinate(model, "f_b"), -angles, atol=SAME, rtol=0)


# Ends that the straight way does not reach.

ROCKING = (0.9, 0.5, 0.5, 0.5)  # its crank passes no half turn
FAR = np.arccos((0.9**2 + 0.5**2 - 1.0) / (2 * 0.9 * 0.5))  # [rad] where coupler and rocker lie in one line


def test_what_is_out_of_reach_is_named_in_every_world(tmp_path):
    """It goes as far as it can, exactly to the fold; others are held. By run, its JSON, /events and the table."""
    values = [0.3, 2.0, 0.0, 2.5, -0.5]
    parts = four_bar_of("r", ROCKING, -0.7, 1, q=0)
    path = tmp_path / "far.yaml"
    batch = {"worlds": 5, "vary": {"joints.r_a.q": {"list": values}}}
    path.write_text("simcli: 1\n" + together(parts, batch=batch))
    ran = command("run", path, "-o", tmp_path / "far.h5", "--json")
    assert ran.returncode == 0
    assert "(written, in 1 world: 3)" in ran.stderr
    moved = [one for one in json.loads(ran.stdout)["moved_at_start"] if one["written"]]
    assert [(one["joint"], one["world"], one["worlds"]) for one in moved] == [("r_a", 3, 1)]
    with simcli.open(tmp_path / "far.h5") as run:
        begun = np.ravel(run.joint("r_a").q[0])
        told = [(one.world, one.code) for one in run.events if one.severity == 1]
    assert told == [(3, "SC616")]
    assert begun[[0, 1, 2, 4]].tolist() == [values[k] for k in (0, 1, 2, 4)]
    np.testing.assert_allclose(begun[3], FAR + 0.7, atol=REACHED)
    table = command("table", tmp_path / "far.h5", "-c", "world,joints.r_a.q,start.r_a", "-o", "-").stdout.splitlines()
    assert table[0] == "world,joints.r_a.q [rad],start.r_a [rad]"
    assert [float(row.split(",")[2]) for row in table[1:]] == begun.tolist()


def test_another_way_leads_to_the_same_end():
    """The straight way passes a half turn, where the linkage does not close; the other way round it does."""
    model = alone([four_bar_of("r", ROCKING, -0.7, 1, q=1.2 - 2 * np.pi)])
    there = alone([four_bar_of("r", ROCKING, -0.7, 1, q=1.2)])
    assert coordinate(model, "r_a")[0] == 1.2 - 2 * np.pi
    np.testing.assert_allclose(coordinate(model, "r_d"), coordinate(there, "r_d"), atol=SAME)
    assert written_moves(model) == []


def test_a_limit_that_excludes_the_drawn_branch_gives_the_other():
    """Said as a warning; where the drawn one is within, nothing is; of two joints."""
    for joint in "db":
        bodies, joints = four_bar_of("u", GRASHOF, 0.4, 1, q=0.8)
        free = alone([(bodies, joints)])
        own = coordinate(free, f"u_{joint}")[0]
        joints[f"u_{joint}"]["limit"] = [float(own) - 0.2, float(own) + 0.2]
        same = alone([(bodies, joints)])
        np.testing.assert_array_equal(same.joint_q, free.joint_q)
        joints[f"u_{joint}"]["limit"] = [float(own) + 0.2, float(own) + 6.2]
        model = alone([(bodies, joints)])
        assert model.start.faults == ()
        assert coordinate(model, "u_a")[0] == 0.8
        assert angle_between(coordinate(model, "u_d"), rocker_of_grashof(-1, 0.8)) < SAME
        told = {model.joints.name[one.joint]: one.reason for one in model.start.moves if one.is_written}
        assert list(told) == [f"u_{joint}"]
        assert "a limit excludes" in told[f"u_{joint}"]


def test_only_dofs_that_moved_and_are_written_are_blamed():
    """A planar joint of which one dof is prescribed: the other two close the loop, and nothing is told."""
    bodies = {"plate": body_at((1, 0, 0)), "arm": body_at((1.5, 0, 0.5))}
    joints = {
        "glide": {
            "type": "planar",
            "parent": "world",
            "child": "plate",
            "at": [1, 0, 0],
            "axis": [0, 1, 0],
            "motion": [{"position": 0.3}, None, None],
        },
        "pin": {"type": "revolute", "parent": "plate", "child": "arm", "at": [1, 0, 0], "axis": [0, 1, 0]},
        "close": {"type": "revolute", "parent": "world", "child": "arm", "at": [2, 0, 1], "axis": [0, 1, 0], "loop": True},
    }
    model = alone([(bodies, joints)])
    assert np.abs(dense_rows(model)[1]).max() < 1e-12
    assert model.start.moves
    assert written_moves(model) == []


# One start, whoever asks.


def test_a_world_begins_alike_alone_in_any_batch_and_beside_others():
    """To the last bit: worlds that go straight, are out of reach, fork, or follow hints; beside other linkages."""
    third = four_bar_of("u", GRASHOF, 0.4, 1, OBLIQUE, at=(0, 4, 0))
    parts = {"r": four_bar_of("r", ROCKING, -0.7, 1), "p": DEAD, "u": third}
    vary = {"r_a": [0.3, 2.5], "p_d": [-0.05, -0.02], "u_a": [1, 2], "u_d": [0, -2]}
    own = lambda prefix: {name: values for name, values in vary.items() if name[0] == prefix}  # noqa: E731
    whole = worlds_of(list(parts.values()), vary)
    single = worlds_of(list(parts.values()), vary, (1,))
    np.testing.assert_array_equal(single.joint_q[0], whole.joint_q[1])
    for prefix, part in parts.items():
        single = worlds_of([part], own(prefix))
        for name in single.joints.name:
            if single.joints.is_tree[single.joints.name.index(name)]:
                np.testing.assert_array_equal(coordinate(single, name), coordinate(whole, name), err_msg=name)


def test_a_simulation_begins_where_a_run_does_whatever_was_before(tmp_path):
    """`set` of a crank continues from the drawing: the bytes of a run that is written so, after any history."""
    path = tmp_path / "u.yaml"
    parts = four_bar_of("u", GRASHOF, 0.4, 1, q=0.2)
    path.write_text("simcli: 1\n" + together(parts, run={"duration": 0.1}))
    with simcli.Simulation(path) as simulation:
        simulation.set({"joint.u_a.q": 2.5, "joint.u_a.qd": 0})
        first = np.array(simulation.get("joint.u_d.q"))
        for q in (-3.0, 1.0, -1.5):
            simulation.set({"joint.u_a.q": q, "joint.u_a.qd": 3})
            simulation.step(20)
        simulation.set({"joint.u_a.q": 2.5, "joint.u_a.qd": 0})
        np.testing.assert_array_equal(simulation.get("joint.u_d.q"), first)
        simulation.reset()
        again = np.array(simulation.get("joint.u_d.q"))
    assert angle_between(first, four_bar_angles(GRASHOF, 0.4, 1, 2.5)[1]) < SAME
    assert angle_between(again, four_bar_angles(GRASHOF, 0.4, 1, 0.2)[1]) < SAME


@pytest.mark.parametrize(
    "keys", [{"initial": {"joint_q": {"u_a": [2.5]}}}, {"keyframes": {"far": {"joint_q": {"u_a": [2.5]}}}, "initial": "far"}]
)
def test_keyframes_and_commands_begin_there(tmp_path, keys):
    """`initial`, a keyframe; and commands on states, which take the same start."""
    parts = four_bar_of("u", GRASHOF, 0.4, 1)
    model = alone([parts], **keys)
    assert angle_between(coordinate(model, "u_d"), rocker_of_grashof(1, 2.5)) < SAME
    path = tmp_path / "u.yaml"
    path.write_text("simcli: 1\n" + together(parts, **keys))
    for name in ("fk", "jacobian"):
        assert command(name, path, "-o", tmp_path / f"{name}.h5").returncode == 0
        with simcli.open(tmp_path / f"{name}.h5") as result:
            np.testing.assert_array_equal(result["joint_q"][0], model.joint_q[0])
