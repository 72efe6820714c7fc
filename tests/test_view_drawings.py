"""Looks of a scene, and what is drawn of it: shapes, glyphs, colours, joints, springs, and what the camera sees."""

from pathlib import Path

import numpy as np
import pytest
from support.scenes import faults_of, scene
from support.view_scenes import BAR, SCENES

from simcli import rotations as rot
from simcli.model.from_scene import build
from simcli.records.contents.layout import axes_of
from simcli.records.contents.model_columns import model_arrays
from simcli.spec import resolve, resolved_yaml
from simcli.spec.schema.look import COLOURS, rgb
from simcli.view.drawing import palette
from simcli.view.drawing.scene import drawing_of
from simcli.view.motion import bounds, camera_of
from simcli.view.subject import subject_of_scene

LOOK = ", look: {colour: teal, opacity: 0.5, shapes: {hood: {type: box, size: [1, 2, 3], colour: '#ff0000'}}}"
SCENE_LOOK = "look: {background: white, grid: false, camera: side, cameras: {side: {from: [0, -5, 1], at: [0, 0, 1]}}}\n"
Z = np.array([0.0, 0.0, 1.0])
SOLVERS = ("generalized", "maximal", "natural", "affine")


def drawn(text, folder=Path(), **more):
    """Spec and drawing of a scene without its first line."""
    document = scene(text)
    spec = resolve(document)
    return spec, drawing_of(spec, build(spec, document), folder=folder, **more)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_look_changes_nothing_but_the_drawing(solver):
    """All solvers take it; every table of the model is the same to the bit."""
    with_look, without = (scene(BAR % (look, solver) + more) for look, more in ((LOOK, SCENE_LOOK), ("", "")))
    tables = []
    for document in (with_look, without):
        model = build(resolve(document), document)
        tables.append(model_arrays(model, axes_of(model)))
    assert all(tables[0][name].tobytes() == tables[1][name].tobytes() for name in tables[1])


def test_a_look_is_in_the_resolved_scene_and_comes_through_templates_and_overrides(tmp_path):
    text = """
models:
  arm:
    bodies: {link: {mass: 1, inertia: point, com: [1, 0, 0], look: {colour: orange}}}
    joints: {pin: {type: revolute, parent: world, child: link, axis: [0, 1, 0]}}
instances: {left: {model: arm}}
world: {look: {colour: silver}}
"""
    spec = resolve(scene(text + SCENE_LOOK))
    assert spec.bodies["left/link"].look.colour == "orange"
    again = tmp_path / "again.yaml"
    again.write_text(resolved_yaml(spec))
    from simcli.spec import load_document

    assert resolve(load_document(again)) == spec
    changed = resolve(load_document(again, ["bodies.left/link.look.opacity=0.25", "look.background=black"]))
    assert (changed.bodies["left/link"].look.opacity, changed.look.background) == (0.25, "black")


@pytest.mark.parametrize(
    ("text", "code", "word"),
    [
        ("world: {look: {colour: oragne}}", "SC206", "oragne"),
        ("world: {look: {colour: '#12345'}}", "SC206", "#12345"),
        ("world: {look: {opacity: 1.5}}", "SC231", "opacity"),
        ("look: {camera: sid, cameras: {side: {from: [0, -5, 1]}}}", "SC319", "sid"),
        ("look: {cameras: {side: {from: [0, 0, 0]}}}", "SC456", "stands"),
        ("look: {cameras: {side: {from: [0, 0, 3]}}}", "SC456", "up"),
        ("look: {cameras: {side: {at: [0, 0, 3]}}}", "SC202", "from"),
        ("world: {look: {shapes: {a: {type: box, size: [1, 0, 1]}}}}", "SC231", "size"),
        ("world: {look: {shapes: {a: {type: box, size: [1, 1, 1], density: 3}}}}", "SC204", "density"),
        ("world: {look: {shapes: {a: {type: mesh, file: none.obj}}}}", "SC110", "none.obj"),
        ("events: [{at: 0.05, set: {look.grid: false}}]", "SC316", "drawn"),
        ("batch: {worlds: 2, vary: {bodies.crank.look.opacity: {list: [0.1, 0.2]}}}", "SC317", "drawn"),
    ],
)  # fmt: skip
def test_a_look_that_cannot_be_is_refused_by_name(text, code, word):
    found = faults_of(text, BAR.removeprefix("\n") % ("", "generalized"))
    assert [one[0] for one in found] == [code], found
    assert word in found[0][2]


def test_shapes_and_looks_are_items_with_their_sizes_places_and_colours(tmp_path):
    (tmp_path / "flap.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    text = """
world: {shapes: {floor: {type: plane, offset: 0.5}, hills: {type: heightfield, data: [[0, 1], [2, 3]], size: [4, 4, 0.5]}}}
bodies:
  a:
    mass: 1
    shapes: {rod: {type: capsule, radius: 0.1, length: 2, pose: {xyz: [1, 2, 3], rpy: [0, "90 deg", 0]}}}
    look: {opacity: 0.5, colour: teal, shapes: {flag: {type: mesh, file: flap.obj, scale: 2, colour: "#ff0000"}}}
  b: {mass: 1, shapes: {ball: {type: ellipsoid, radii: [1, 2, 3]}}}
  c: {mass: 1, shapes: {ball: {type: sphere, radius: 1}}, look: {hidden: true}}
contact: {enabled: false}
"""
    document = scene(text, tmp_path)
    spec = resolve(document)
    drawing = drawing_of(spec, build(spec, document), folder=tmp_path)
    items = {item.name: item for item in drawing.items if item.layer == "shape"}
    assert set(items) == {"floor", "hills", "a/rod", "a/flag", "b/ball"}
    rod, flag, ball, hills = (items[name] for name in ("a/rod", "a/flag", "b/ball", "hills"))
    assert (rod.kind, rod.size, rod.position, rod.opacity) == ("capsule", (0.1, 2.0), (1.0, 2.0, 3.0), 0.5)
    assert rod.colour == rgb("teal") == rgb(COLOURS["teal"])
    np.testing.assert_allclose(rot.quat_rotate(np.array(rod.orientation), Z), [1, 0, 0], atol=1e-15)
    np.testing.assert_array_equal(flag.vertices, [[0, 0, 0], [2, 0, 0], [0, 2, 0]])
    assert (flag.body, flag.colour, flag.opacity) == (0, (1.0, 0.0, 0.0), 0.5)
    assert (ball.size, ball.colour) == ((1.0, 2.0, 3.0), palette.of_body(1))
    assert items["floor"].position == (0.0, 0.0, 0.5)
    assert hills.kind == "mesh"
    np.testing.assert_allclose(sorted(hills.vertices[:, 2]), [0.0, 0.5, 1.0, 1.5])
    assert not [item for item in drawing.items if item.body == 2]


def test_bodies_keep_their_colours_which_differ():
    colours = [palette.of_body(k) for k in range(-1, 21)]
    assert len(set(colours)) == len(colours)
    assert all(0.0 <= value <= 1.0 for colour in colours for value in colour)
    document = scene(BAR % ("", "generalized") + "batch: {vary: {bodies.crank.mass: {grid: [1, 2]}}}\n")
    spec = resolve(document)
    from simcli.model.from_scene import build_worlds

    model = build_worlds(document, spec)
    first, second = (drawing_of(spec, model, world) for world in (0, 1))
    assert [item.colour for item in first.items] == [item.colour for item in second.items]


@pytest.mark.parametrize("name", ["double_pendulum", "slider_crank", "puma560", "n_fourbar", "gantry_crane", "spacecraft"])
def test_a_mechanism_without_shapes_is_seen(name):
    """Every body has something that is drawn at first; bars reach from anchor to anchor."""
    subject = subject_of_scene(SCENES / f"{name}.yaml")
    drawing, = subject.drawings[:1]
    assert {item.body for item in drawing.items if item.shown} >= set(range(len(drawing.bodies)))
    low, high = bounds(drawing, subject.motion())
    assert (high > low).all()


def test_glyphs_grow_with_the_mechanism():
    """The same mechanism ten times as large is drawn ten times as large."""
    small, large = ("com: [%g, 0, 0]" % (0.5 * k) for k in (1, 10))
    text = BAR % ("", "generalized")
    of = [drawn(text.replace("com: [0.5, 0, 0]", com).replace("[1, 0, 0]", f"[{k}, 0, 0]"))[1]
          for k, com in ((1, small), (10, large))]  # fmt: skip
    assert of[1].unit == pytest.approx(10 * of[0].unit)
    for one, other in zip(of[0].items, of[1].items, strict=True):
        np.testing.assert_allclose(other.corners, 10 * one.corners, atol=1e-12)


@pytest.mark.parametrize("joint", ["prismatic, limit: [0.2, 0.9]", "screw, pitch: 0.3 m", "revolute"])
def test_a_joint_is_drawn_at_the_anchors_of_the_scene(joint):
    """Whatever coordinate `init_angle` gives to the pose in which they coincide."""

    def joint_items(start):
        words = joint.replace("[0.2, 0.9]", f"[{0.2 + start}, {0.9 + start}]")
        _, drawing = drawn(f"""
bodies: {{a: {{mass: 1, inertia: {{diag: [1, 1, 1]}}}}}}
joints: {{j: {{type: {words}, parent: world, child: a, axis: [0, 1, 0],
  parent_frame: {{xyz: [0.2, 0, 0.5]}}, child_frame: {{xyz: [0, 0.1, 0]}}, q: {0.4 + start}, init_angle: {start}}}}}
""")
        return [one for one in drawing.items if one.name == "j"]

    plain, shifted = joint_items(0), joint_items(0.7)
    assert plain
    for one, other in zip(plain, shifted, strict=True):
        assert (one.body, one.kind, one.size) == (other.body, other.kind, pytest.approx(other.size))
        assert one.position == pytest.approx(other.position)
        assert abs(np.dot(one.orientation, other.orientation)) == pytest.approx(1)


def test_springs_and_rods_are_strands_between_their_points():
    _, drawing = drawn("""
bodies:
  a: {mass: 1, inertia: {diag: [1, 1, 1]}, pose: {xyz: [1, 0, 0]}, points: {p: [0, 0, 0.5]}}
joints:
  rod: {type: distance, parent: world, child: a, length: 1}
forces:
  s: {type: spring, a: {world: [0, 0, 2]}, b: a/p, stiffness: 50}
""")
    strands = {one.name: one for one in drawing.strands}
    assert (strands["s"].kind, strands["s"].bodies, strands["s"].points) == ("spring", (-1, 0), ((0, 0, 2), (0, 0, 0.5)))
    assert (strands["rod"].kind, strands["rod"].bodies) == ("rod", (-1, 0))


@pytest.mark.parametrize("name", ["double_pendulum", "billiards", "rings", "bricard", "pendulum_field", "slider_crank",
                                  "andrews_squeezer"])  # fmt: skip
def test_the_camera_sees_all_of_it(name):
    """All corners of the box are within the picture; no plane hides it."""
    subject = subject_of_scene(SCENES / f"{name}.yaml")
    drawing = subject.drawings[0]
    low, high = bounds(drawing, subject.motion())
    ((_, poses),) = subject.motion().blocks()
    for strand in drawing.strands:
        for body, point in zip(strand.bodies, strand.points, strict=True):
            end = np.array(point) if body < 0 else rot.pose_apply(poses[0, 0, body], np.array(point))
            assert (low - 1e-9 <= end).all()
            assert (end <= high + 1e-9).all()
    camera = camera_of(low, high, drawing, aspect=1.5)
    eye, target = np.array(camera.position), np.array(camera.target)
    forward = (target - eye) / np.linalg.norm(target - eye)
    right = np.cross(forward, camera.up) / np.linalg.norm(np.cross(forward, camera.up))
    corners = np.array(np.meshgrid(*zip(low, high, strict=True))).reshape(3, -1).T - eye
    depth = corners @ forward
    seen = np.stack((corners @ right, corners @ np.cross(right, forward))) / depth / np.tan(0.5 * camera.fov)
    assert (depth > 0).all()
    assert np.abs(seen[0]).max() <= 1.5
    assert np.abs(seen[1]).max() <= 1.0
    for item in drawing.items:
        if item.kind == "plane":
            assert rot.quat_rotate(np.array(item.orientation), Z) @ (eye - item.position) > 0
