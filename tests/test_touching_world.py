"""What joints with the world, and with a body that is a part of it, let touch: one rule, also while joints are switched.

Balls fall from 1 m onto floors: the plane of the world, or a box that a fixed joint holds to it. Both are the same physics.
"""

from pathlib import Path

import pytest
from support.contact_scenes import run

from simcli.exchange.importing import load_scene
from simcli.model import build
from simcli.solvers import SOLVERS
from simcli.spec import resolve
from simcli.spec.names.structure import WORLD_NAME

RADIUS, RELEASE = 0.1, 0.1
# How a ball hangs on the world. All of them let it fall along z.
MOVING = {
    "distance": {"type": "distance", "limit": [0, 5], "loop": True},
    "prismatic": {"type": "prismatic", "axis": [0, 0, 1]},
    "planar": {"type": "planar", "axis": [1, 0, 0]},
    "d6": {"type": "d6", "axes": {"linear": [{"axis": [0, 0, 1]}]}},
}
# How it hangs on the owner of its floor, whichever that is: the joint is off, or an event at RELEASE switches it off.
SWITCHED = {
    "off": {"type": "revolute", "enabled": False},
    "unheld": {"type": "fixed", "enabled": False},
    "released": {"type": "fixed"},
    "unhinged": {"type": "revolute"},
}
EVENT = ("released", "unhinged")
UNKNOWN = {"affine": ("distance", "planar", "d6")}
# [m]: what a rigid floor lacks; a barrier keeps balls within its d_hat above the floor.
WITHIN = {"affine": 2e-3}
BODY = {"mass": 1, "inertia": {"diag": [0.01, 0.01, 0.01]}}
BALL = {**BODY, "shapes": {"s": {"type": "sphere", "radius": RADIUS}}}
BOX = {"s": {"type": "box", "size": [100, 10, 1]}}


def falling(solver: str) -> dict:
    """Balls that fall: on the world's floor along y = 0, on that of a held body along y = 50; and two that are held."""
    bodies = {"base": {**BODY, "pose": {"xyz": [0, 50, -0.5]}, "shapes": BOX},
              "held": {**BALL, "pose": {"xyz": [-3, 0, 0]}}, "chain": {**BALL, "pose": {"xyz": [-6, 0, 0]}}}  # fmt: skip
    fixed = {"type": "fixed", "parent": "world", "parent_frame": {}}
    joints = {name: {**fixed, "child": name, "parent_frame": bodies[name]["pose"]} for name in ("base", "held")}
    joints["chain"] = {**fixed, "parent": "held", "child": "chain", "parent_frame": {"xyz": [-3, 0, 0]}}
    moving = [name for name in MOVING if name not in UNKNOWN.get(solver, ())]
    places = [("world", name, 0) for name in (*moving, *SWITCHED)] + [("base", name, 50) for name in SWITCHED]
    for k, (owner, name, y) in enumerate(places):
        own = f"{owner}_{name}"
        bodies[own] = {**BALL, "pose": {"xyz": [k, y, 1]}}
        at = [k, y, 1] if owner == "world" else [k, 0, 1.5]
        joints[own] = {**(MOVING | SWITCHED)[name], "parent": owner, "child": own, "parent_frame": {"xyz": at}}
    switch = {f"joints.{owner}_{name}.enabled": False for owner in ("world", "base") for name in EVENT}
    return {"simcli": 1, "world": {"shapes": {"floor": {"type": "plane"}}}, "bodies": bodies, "joints": joints,
            "events": [{"at": RELEASE, "set": switch}],
            "solver": {"type": solver, "dt": 2e-3}, "run": {"duration": 0.8}}


@pytest.mark.parametrize("solver", [pytest.param(name, marks=pytest.mark.slow) if name in ("maximal", "natural") else name
                                    for name in SOLVERS])  # fmt: skip
def test_what_falls_comes_to_rest_on_its_floor(solver, tmp_path):
    """What is held cuts the floor in peace, alone or in a chain: it is a part of the world."""
    made = falling(solver)
    code, result = run(tmp_path, solver, made)
    assert code == 0
    with result:
        height = {name: float(result.body(name).position[-1, 0, 2]) for name in made["bodies"]}
    within = WITHIN.get(solver, 1e-6)
    assert height.pop("base") == pytest.approx(-0.5, abs=within)
    assert (height.pop("held"), height.pop("chain")) == pytest.approx((0, 0), abs=within)
    assert height == pytest.approx(dict.fromkeys(height, RADIUS), abs=within)


def touching(path) -> tuple[set[frozenset[str]], dict]:
    """Pairs of bodies of which shapes can touch, and the joints of a scene."""
    document = load_scene(path)
    spec = resolve(document)
    model = build(spec, document)
    if model.contacts is None:
        return set(), spec.joints
    owner = [WORLD_NAME if b < 0 else model.bodies.name[b] for b in model.shapes.body]
    return {frozenset((owner[a], owner[b])) for a, b in zip(*model.contacts.pairs[:2], strict=True)}, spec.joints


MASS = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
SOLID = '<collision name="{}"><geometry><box size="1 1 1"/></geometry></collision>'
URDF = f"""<robot name="arm"><link name="foot">{SOLID.format("foot")}</link>
<link name="upper">{MASS}{SOLID.format("u")}</link><link name="lower">{MASS}{SOLID.format("l")}</link>
<joint name="hip" type="continuous"><parent link="foot"/><child link="upper"/></joint>
<joint name="knee" type="continuous"><parent link="upper"/><child link="lower"/></joint></robot>"""
WELDED = '<link name="{}"><inertial><mass>1</mass></inertial>{}</link>'
BOXED = SOLID.replace('<box size="1 1 1"/>', "<box><size>1 1 1</size></box>")
SDF = f"""<sdf version="1.7"><world name="w">
<model name="post"><static>true</static><link name="post">{BOXED.format("p")}</link></model>
<model name="wall"><static>true</static><link name="wall">{BOXED.format("q")}</link></model>
<model name="arm">{WELDED.format("upper", BOXED.format("u"))}</model>
<joint name="hip" type="revolute"><parent>post::post</parent><child>arm::upper</child><axis><xyz>0 1 0</xyz></axis></joint>
</world></sdf>"""


def test_links_that_became_a_part_of_the_world_keep_apart_from_their_neighbours(tmp_path):
    """A foot without mass, which URDF fixes, and a static model of SDF: joints of both formats part what they connect."""
    for suffix, text in (("urdf", URDF), ("sdf", SDF)):
        (tmp_path / f"model.{suffix}").write_text(text)
    assert touching(tmp_path / "model.urdf")[0] == {frozenset((WORLD_NAME, "lower"))}
    document = load_scene(tmp_path / "model.sdf")
    spec = resolve(document)
    model = build(spec, document)
    names = {model.shapes.name[s] for pair in model.contacts.pairs[:2] for s in pair}
    assert names == {"q", "arm_upper/u"}


SHIPPED = [path for folder in ("scenes", "simcli/docs/templates", "simcli/docs/bundles")
           for path in sorted((Path(__file__).parents[1] / folder).glob("*.yaml"))]  # fmt: skip


def test_no_shipped_scene_collides_by_a_joint_with_the_world():
    """What a joint holds to the world touches none of its shapes in them: those that hang in the air have no floor."""
    for path in SHIPPED:
        pairs, joints = touching(path)
        assert pairs.isdisjoint(frozenset((joint.parent, joint.child)) for joint in joints.values()), path.name
