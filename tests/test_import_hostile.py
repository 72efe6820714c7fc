"""Two hundred hostile files of URDF, SDF and MJCF: an error with its place and exit code 7, or a loss that is told.

No traceback, nothing read outside of the folder of the model, nothing written but the scene and its meshes.

Where imported joints begin: within limits, gears and motions, so that a scene that was imported can run.
"""

import re
import sys

import pytest

from simcli.cli.process import run_command
from simcli.errors import Exit, FileError
from simcli.exchange.importing import import_model, load_scene
from simcli.exchange.source.xml_reader import read_xml
from simcli.model import build
from simcli.spec import resolve

URDF = """<robot name="r">
  <link name="a"><inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
  <link name="b"><inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
    <collision><geometry><mesh filename="part.obj"/></geometry></collision></link>
  <joint name="j" type="revolute"><origin xyz="0 0 1"/><parent link="a"/><child link="b"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
</robot>
"""
SDF = """<sdf version="1.7"><model name="r">
  <link name="a"><inertial><mass>1</mass></inertial></link>
  <link name="b"><pose>0 0 1 0 0 0</pose><inertial><mass>1</mass></inertial>
    <collision name="c"><geometry><mesh><uri>part.obj</uri></mesh></geometry></collision></link>
  <joint name="j" type="revolute"><parent>a</parent><child>b</child><axis><xyz>0 1 0</xyz>
    <limit><lower>-1</lower><upper>1</upper></limit></axis></joint>
</model></sdf>
"""
MJCF = """<mujoco model="r"><asset><mesh name="m" file="part.obj"/></asset><worldbody>
  <body name="a"><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/><freejoint name="f"/>
    <body name="b" pos="0 0 1"><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>
      <joint name="j" axis="0 1 0" range="-1 1"/><geom type="mesh" mesh="m" mass="0"/></body></body>
</worldbody></mujoco>
"""
FORMATS = {"urdf": URDF, "sdf": SDF, "xml": MJCF}
TETRAHEDRON = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
BOMB = "".join(f'<!ENTITY b{k} "{f"&b{k - 1};" * 10}">' for k in range(1, 10))

# What is done to the bytes of any file; all are refused with a line.
TO_XML = {
    "an entity": lambda text: b'<!DOCTYPE r [<!ENTITY a "b">]>' + text,
    "a bomb": lambda text: f'<!DOCTYPE r [<!ENTITY b0 "ha">{BOMB}]>'.encode() + text.replace(b'"r"', b'"&b9;"', 1),
    "a wide bomb": lambda text: (
        b'<!DOCTYPE r [<!ENTITY a "' + b"x" * 50_000 + b'">]>' + text.replace(b'"r"', b'"&a;&a;&a;"')
    ),
    "an external entity": lambda text: b'<!DOCTYPE r [<!ENTITY a SYSTEM "../secret.obj">]>' + text,
    "an external type": lambda text: b'<!DOCTYPE r SYSTEM "../secret.obj">' + text,
    "a public type": lambda text: b'<!DOCTYPE r PUBLIC "-//x//y" "http://127.0.0.1/x.dtd">' + text,
    "a parameter entity": lambda text: b'<!DOCTYPE r [<!ENTITY % a SYSTEM "../secret.obj"> %a;]>' + text,
    "an unknown entity": lambda text: text.replace(b'"r"', b'"&nbsp;"', 1),
    "depth": lambda text: b"<a>" * 100_000 + text,
    "depth within": lambda text: text.replace(b">", b">" + b"<a>" * 5000, 1),
    "a quarter": lambda text: text[: len(text) // 4],
    "a half": lambda text: text[: len(text) // 2],
    "all but the end": lambda text: text.rstrip()[:-3],
    "nothing": lambda text: b"",
    "space": lambda text: b" \n" * 1000,
    "a null byte": lambda text: text.replace(b"name", b"na\0me", 1),
    "null bytes": lambda text: b"\0" * 4096,
    "a null character": lambda text: text.replace(b'"r"', b'"&#0;"', 1),
    "a control character": lambda text: text.replace(b'"r"', b'"\x07"', 1),
    "no UTF-8": lambda text: text.replace(b'"r"', b'"\xff\xfe"', 1),
    "an encoding that is none": lambda text: b'<?xml version="1.0" encoding="klingon"?>' + text,
    "another encoding": lambda text: b'<?xml version="1.0" encoding="UTF-16"?>' + text,
    "half of UTF-16": lambda text: text.decode().encode("utf-16")[:301],
    "bytes": lambda text: bytes(range(256)) * 20,
    "an HDF5 file": lambda text: b"\x89HDF\r\n\x1a\n" + text,
    "two roots": lambda text: text + text,
    "text behind": lambda text: text + b"and more",
    "an attribute twice": lambda text: text.replace(b'name="a"', b'name="a" name="a"', 1),
    "an attribute without end": lambda text: text.replace(b'name="a"', b'name="a', 1),
    "a prefix that is none": lambda text: text.replace(b"<robot", b"<:").replace(b"<sdf", b"<:").replace(b"<mujoco", b"<:"),
    "tags that cross": lambda text: text.replace(b"</link>", b"</joint>").replace(b"</body>", b"</geom>"),
    "another root": lambda text: b"<html>" + text + b"</html>",
    "YAML": lambda text: b"simcli: 1\nbodies: {}\n",
}
# What is written in place of a number; of each format one of a mass and one of a place.
NUMBERS = ("nan", "-nan", "inf", "-inf", "1e999", "one", "1,0", "0x1F", "1e", "--1", "1_0", "\u0661", "$(rm)", "9" * 400)
MASS = {
    "urdf": ('mass value="1"', 'mass value="{}"'),
    "sdf": ("<mass>1</mass>", "<mass>{}</mass>"),
    "xml": ('mass="1"', 'mass="{}"'),
}
PLACE = {
    "urdf": ('xyz="0 0 1"', 'xyz="0 0 {}"'),
    "sdf": ("0 0 1 0 0 0", "0 0 {} 0 0 0"),
    "xml": ('pos="0 0 1"', 'pos="0 0 {}"'),
}
# What contradicts itself.
STRUCTURE = {
    "urdf": {
        "two links of a name": ('<link name="b">', '<link name="a">'),
        "a joint without name": ('name="j" ', ""),
        "an unknown parent": ('parent link="a"', 'parent link="z"'),
        "an unknown child": ('child link="b"', 'child link="z"'),
        "a joint to itself": ('child link="b"', 'child link="a"'),
        "no parent": ('<parent link="a"/>', ""),
        "an unknown type": ('"revolute"', '"screw"'),
        "no type": (' type="revolute"', ""),
        "no axis": ('xyz="0 1 0"', 'xyz="0 0 0"'),
        "few numbers": ('xyz="0 0 1"', 'xyz="0 0"'),
        "many numbers": ('xyz="0 0 1"', f'xyz="{"0 " * 10_000}"'),
        "the world as a child": ('child link="b"', 'child link="world"'),
        "a mass below zero": ('mass value="1"', 'mass value="-1"'),
        "no inertia of a body": ('izz="1"', 'izz="100"'),
        "itself as leader": ("</joint>", '<mimic joint="j"/></joint>'),
        "an unknown leader": ("</joint>", '<mimic joint="z"/></joint>'),
        "macros": ("<link", '<xacro:include filename="../secret.obj"/><link'),
    },
    "sdf": {
        "two links of a name": ('<link name="b">', '<link name="a">'),
        "a joint of the name of a link": ('name="j"', 'name="a"'),
        "an unknown parent": ("<parent>a", "<parent>z"),
        "an unknown child": ("<child>b", "<child>z"),
        "no parent": ("<parent>a</parent>", ""),
        "an unknown type": ('"revolute"', '"hinge"'),
        "no type": (' type="revolute"', ""),
        "no axis": ("<xyz>0 1 0", "<xyz>0 0 0"),
        "few numbers": ("0 0 1 0 0 0", "0 0 1"),
        "an include": ("<link", "<include><uri>x</uri></include><link"),
        "poses in a circle": ('<link name="b"><pose>', '<link name="b"><pose relative_to="b">'),
        "an unknown frame": ('<link name="b"><pose>', '<link name="b"><pose relative_to="z">'),
        "frames in a circle": ("<link", '<frame name="p" attached_to="q"/><frame name="q" attached_to="p"/><link'),
        "another version": ('"1.7"', '"2.0"'),
        "no model": ("model", "light"),
        "a mass below zero": ("<mass>1", "<mass>-1"),
        "a truth that is none": ("<link", "<static>perhaps</static><link"),
        "a frame without name": ("<link", "<frame/><link"),
        "a rotation of no format": ("<pose>", '<pose rotation_format="matrix">'),
        "a joint to itself": ("<child>b", "<child>a"),
    },
    "xml": {
        "two bodies of a name": ('<body name="b"', '<body name="a"'),
        "an unknown mesh": ('mesh="m"', 'mesh="z"'),
        "no axis": ('axis="0 1 0"', 'axis="0 0 0"'),
        "an unknown type": ('type="mesh"', 'type="ring"'),
        "a mass below zero": ('mass="1"', 'mass="-1"'),
        "an unknown element": ("<freejoint", "<ring/><freejoint"),
        "itself included": ("<asset>", '<include file="robot.xml"/><asset>'),
        "a file outside included": ("<asset>", '<include file="../secret.xml"/><asset>'),
        "an absolute file included": ("<asset>", '<include file="/etc/passwd"/><asset>'),
        "copies without end": ('<body name="a">', '<replicate count="1000000000"><body name="a">'),
        "a plugin": ("<asset>", '<extension><plugin plugin="x"/></extension><asset>'),
        "an unknown class": ('name="j"', 'name="j" class="z"'),
    },
}
# Meshes that are not there for a model: dropped with the reason, or refused.
PATHS = {
    "above": "../secret.obj",
    "above by detour": "meshes/../../secret.obj",
    "absolute": "{outside}",
    "as a file": "file://{outside}",
    "in a package above": "package://../secret.obj",
    "in a package by detour": "package://model/../secret.obj",
    "in no package": "package://",
    "in a model": "model://../secret.obj",
    "on a server": "http://127.0.0.1:9/secret.obj",
    "by a link": "link.obj",
    "by a link to nothing": "nowhere.obj",
    "by a link to itself": "circle.obj",
    "by a linked folder": "way/secret.obj",
    "missing": "none.obj",
    "a folder": "folder.obj",
    "no name": "",
    "a long name": "x" * 5000 + ".obj",
    "a device": "/dev/zero",
    "at home": "~/secret.obj",
    "of another system": "..\\secret.obj",
    "with a code": "%2e%2e/secret.obj",
    "a line": "a&#10;b.obj",
    "a huge mesh": "huge.obj",
    "no mesh": "text.obj",
    "without end": "../" * 2000 + "secret.obj",
}
OPENED: list[str] = []
WATCHING: list[bool] = []


def _hook(event, arguments):
    if event == "open" and WATCHING and isinstance(arguments[0], str | bytes):
        OPENED.append(arguments[0] if isinstance(arguments[0], str) else arguments[0].decode(errors="replace"))


sys.addaudithook(_hook)  # stays for the process, and does nothing while nobody watches


@pytest.fixture
def place(tmp_path):
    """A folder with a mesh, beside a secret."""
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "part.obj").write_text(TETRAHEDRON)
    (tmp_path / "secret.obj").write_text(TETRAHEDRON)
    (tmp_path / "secret.xml").write_text("<mujoco/>")
    return folder


def imported(place, suffix, data, capsys, monkeypatch):
    """Import a file; exit code and what was said. Nothing outside of its folder is opened; only the scene is written."""
    path = place / f"robot.{suffix}"
    path.write_bytes(data)
    (place / "out").mkdir()
    monkeypatch.chdir(place)
    before = {one for one in place.parent.rglob("*") if "out" not in one.parts}
    OPENED.clear()
    WATCHING.append(True)
    try:
        code = run_command(["import", f"robot.{suffix}", "-o", "out/scene.yaml"], debug=False, as_json=False)
    finally:
        WATCHING.clear()
    said = capsys.readouterr().err
    assert "Traceback" not in said
    assert code in (Exit.OK, Exit.FILE), said
    assert {one for one in place.parent.rglob("*") if "out" not in one.parts} == before
    assert not [name for name in OPENED if "/secret." in name or name in ("/etc/passwd", "/dev/zero")]
    if code != Exit.OK:
        assert not list((place / "out").iterdir())
    return code, said


def needs(suffix):
    if suffix == "xml":
        pytest.importorskip("mujoco")


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("what", TO_XML)
def test_what_is_no_plain_xml_is_refused(place, suffix, what, capsys, monkeypatch):
    code, said = imported(place, suffix, TO_XML[what](FORMATS[suffix].encode()), capsys, monkeypatch)
    assert code == Exit.FILE
    assert re.search(rf"robot\.{suffix}:\d+", said), said
    assert len(said) < 1000


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("number", NUMBERS, ids=lambda text: text[:10].encode("ascii", "replace").decode())
@pytest.mark.parametrize("part", ["mass", "place"])
def test_what_is_no_number_is_refused_at_its_line(place, suffix, number, part, capsys, monkeypatch):
    needs(suffix)
    if (suffix, number) == ("xml", "0x1F"):
        pytest.skip("a number of C, which MuJoCo reads")
    old, new = (MASS if part == "mass" else PLACE)[suffix]
    text = FORMATS[suffix].replace(old, new.format(number), 1)
    code, said = imported(place, suffix, text.encode(), capsys, monkeypatch)
    assert code == Exit.FILE, said
    line = 1 + text[: text.index(new.format(number))].count("\n")
    assert f"robot.{suffix}:{line}" in said
    assert len(said) < 1000


@pytest.mark.parametrize(("suffix", "what"), [(suffix, what) for suffix, parts in STRUCTURE.items() for what in parts])
def test_what_contradicts_itself_is_refused(place, suffix, what, capsys, monkeypatch):
    needs(suffix)
    old, new = STRUCTURE[suffix][what]
    assert old in FORMATS[suffix]
    text = FORMATS[suffix].replace(old, new, 1 if what != "no model" else -1)
    code, said = imported(place, suffix, text.encode(), capsys, monkeypatch)
    assert code == Exit.FILE, said
    assert f"robot.{suffix}" in said
    assert len(said) < 1500


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("what", PATHS)
def test_no_mesh_outside_of_the_folder_is_read(place, suffix, what, capsys, monkeypatch):
    needs(suffix)
    outside = place.parent / "secret.obj"
    (place / "link.obj").symlink_to(outside)
    (place / "nowhere.obj").symlink_to(place / "nothing")
    (place / "circle.obj").symlink_to(place / "circle.obj")
    (place / "way").symlink_to(place.parent, target_is_directory=True)
    (place / "folder.obj").mkdir()
    (place / "text.obj").write_text("f 1 2 99999999999\n" * 3)
    with (place / "huge.obj").open("wb") as file:
        file.truncate(100_000_000)
    text = FORMATS[suffix].replace("part.obj", PATHS[what].format(outside=outside))
    code, said = imported(place, suffix, text.encode(), capsys, monkeypatch)
    if code == Exit.OK:
        assert re.search(r"dropped \d+ (collision|geom|mesh)", said), said
        assert not (place / "out" / "scene_meshes").exists()


@pytest.mark.parametrize("suffix", FORMATS)
def test_large_files_are_not_read(place, suffix, capsys, monkeypatch):
    with (place / f"large.{suffix}").open("wb") as file:
        file.write(FORMATS[suffix].encode())
        file.truncate(100_000_000)
    monkeypatch.chdir(place)
    assert run_command(["check", f"large.{suffix}"], debug=False, as_json=False) in (Exit.NEGATIVE, Exit.SCENE, Exit.FILE)
    assert "64 MiB" in capsys.readouterr().err


def test_there_are_two_hundred():
    count = len(FORMATS) * (len(TO_XML) + 2 * len(NUMBERS) + len(PATHS)) + sum(map(len, STRUCTURE.values()))
    assert count > 200


@pytest.mark.parametrize("suffix", FORMATS)
def test_the_files_themselves_are_sound(place, suffix, capsys, monkeypatch):
    needs(suffix)
    code, said = imported(place, suffix, FORMATS[suffix].encode(), capsys, monkeypatch)
    assert code == Exit.OK, said
    assert (place / "out" / "scene_meshes" / "part.obj").read_text() == TETRAHEDRON


@pytest.mark.parametrize(
    ("prefix", "kind"),
    [
        ("<!-- start with: gz sim --levels a.sdf -->", "sdf"),
        ("\n\n  ", "urdf"),
        ("<!-- a line -->\n", "urdf"),
        ("\ufeff\n", "xml"),
    ],
)
def test_what_other_programs_read_as_xml_is_read(tmp_path, prefix, kind):
    """Comments with dashes anywhere, blanks and comments before the declaration; lines of messages stay."""
    text = FORMATS[kind].replace("part.obj", "gone.obj", 1)
    path = tmp_path / f"robot.{kind}"
    path.write_text(prefix + '<?xml version="1.0" encoding="utf-8"?>' + text.replace("\n", "\n<!-- x -- y --->", 1))
    root = read_xml(path)
    (tmp_path / "plain").write_text(text)
    plain = read_xml(tmp_path / "plain")
    shift = prefix.count("\n")
    assert [(one.tag, one.line - shift) for one in root.below()] == [(one.tag, one.line) for one in plain.below()]


INERTIA = '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'


def urdf(tmp_path, *joints, massless=()):
    """A chain of links, a joint of each: (type, limit, what else stands in it)."""
    text = f'<link name="l0">{INERTIA}</link>'
    for k, (kind, limit, more) in enumerate(joints):
        bounds = f'<limit lower="{limit[0]}" upper="{limit[1]}" effort="1" velocity="1"/>' if limit else ""
        text += (
            f'<link name="l{k + 1}">{"" if k in massless else INERTIA}</link>\n<joint name="j{k}" type="{kind}">'
            f'<parent link="l{k}"/><child link="l{k + 1}"/><axis xyz="0 0 1"/>{bounds}{more}</joint>'
        )
    path = tmp_path / "robot.urdf"
    path.write_text(f'<robot name="r">{text}</robot>')
    return path


def mimic(leader, ratio=1.0, offset=0.0):
    return f'<mimic joint="{leader}" multiplier="{ratio}" offset="{offset}"/>'


def begins(path):
    """Coordinates of the joints that move at the start; the scene can run from there."""
    document = load_scene(path)
    model = build(resolve(document), document)
    assert not model.start.faults, model.start.faults
    starts = zip(model.joints.name, model.joints.q_start, model.joints.q_start[1:], strict=False)
    return {name: float(model.joint_q[0, first]) for name, first, after in starts if after == first + 1}


def changes(path, kind):
    return {entry.name: entry.why for entry in import_model(path).report.entries if entry.kind == kind and entry.why}


STARTS = {
    "limits that hold 0": ([("revolute", (-1, 1), "")], {"j0": 0.0}),
    "the middle": ([("prismatic", (0.2, 0.6), "")], {"j0": 0.4}),
    "the bound": ([("revolute", (0.2, "inf"), "")], {"j0": 0.2}),
    "a follower within its limits": (
        [("continuous", None, ""), ("prismatic", (0.1, 0.5), mimic("j0", 0.1, 0.2))],
        {"j0": 0.0, "j1": 0.2},
    ),
    "a follower outside of them": (
        [("revolute", (-1, 1), ""), ("revolute", (-1, 0.1), mimic("j0", 1, 0.2))],
        {"j0": -0.55, "j1": -0.35},
    ),
    "a leader that does not lead from 0": (
        [("revolute", (0.2, 0.4), ""), ("revolute", (0, 1), mimic("j0", 2))],
        {"j0": 0.3, "j1": 0.6},
    ),
    "a chain of gears": (
        [
            ("revolute", (-1, 1), ""),
            ("revolute", (-1, 1), mimic("j0", -1, 0.3)),
            ("revolute", (0.9, 1.1), mimic("j1", 2, 0.2)),
        ],
        {"j0": -0.1, "j1": 0.4, "j2": 1.0},
    ),
    "a gear that does not turn": (
        [("revolute", (-1, 1), ""), ("revolute", (0.4, 0.6), mimic("j0", 0, 0.5))],
        {"j0": 0.0, "j1": 0.5},
    ),
}


@pytest.mark.parametrize("name", STARTS)
def test_joints_begin_within_their_limits_and_gears(tmp_path, name):
    joints, wanted = STARTS[name]
    assert begins(urdf(tmp_path, *joints)) == pytest.approx(wanted, abs=1e-12)


def test_a_limit_that_no_start_keeps_is_told(tmp_path):
    path = urdf(tmp_path, ("revolute", (-1, 1), ""), ("revolute", (2, 3), mimic("j0")))
    assert begins(path) == {"j0": 0.0, "j1": 0.0}
    assert changes(path, "limit") == {"j1": "holds nothing that the joint can follow `j0` to: it has no limits"}


def test_what_moves_a_start_is_told(tmp_path):
    path = urdf(tmp_path, *STARTS["a follower outside of them"][0])
    assert changes(path, "limit") == {"j1": "does not hold 0.2: `j0`, which leads, begins at -0.55"}
    path = urdf(tmp_path, *STARTS["the bound"][0])
    assert changes(path, "limit") == {"j0": "does not hold 0: the joint begins at its bound"}


def test_a_circle_of_gears_is_refused_by_name(tmp_path):
    path = urdf(tmp_path, ("revolute", (-1, 1), mimic("j1")), ("revolute", (-1, 1), mimic("j0")))
    with pytest.raises(FileError, match=r"robot.urdf:2: the joints `j0`, `j1` mimic each other in a circle"):
        import_model(path)


def test_a_joint_that_follows_one_beyond_which_nothing_has_mass_is_held(tmp_path):
    """Beyond j1 nothing has mass, so that it is held at 0, with no limit to break; j0 follows it."""
    path = urdf(tmp_path, ("revolute", (0.2, 1), mimic("j1", 1, 0.5)), ("revolute", (0.1, 1), ""), massless={1})
    assert begins(path) == {"j0": 0.5}
    entries = {(entry.kind, entry.name): entry for entry in import_model(path).report.entries}
    assert entries["limit", "j1"].fate == entries["joint", "j1"].fate == "dropped"
    assert entries["mimic", "j0"].why == "`j1` is held: a motion holds this joint at 0.5"


def mjcf(tmp_path, equalities, more="", ranges=("10 20", "-10 10")):
    pytest.importorskip("mujoco")
    geom = '<geom size="0.1" pos="0.2 0 0" contype="0"/>'
    bodies = "".join(
        f'<body name="{name}"><joint name="{name}" axis="0 1 0" limited="true" range="{bounds}"/>{geom}</body>'
        for name, bounds in zip("xz", ranges, strict=True)
    )
    path = tmp_path / "model.xml"
    path.write_text(f"<mujoco><worldbody>{bodies}</worldbody><equality>{equalities}</equality>{more}</mujoco>")
    return path


LOCK = '<joint joint1="x" polycoef="{} 0 0 0 0"/>'
GEAR = '<joint joint1="{}" joint2="{}"/>'


def test_what_an_equality_holds_begins_there(tmp_path):
    path = mjcf(tmp_path, LOCK.format(0.25))
    assert begins(path) == {"x": 0.25, "z": 0.0}
    assert not changes(path, "limit")
    path = mjcf(tmp_path, LOCK.format(0.7))
    assert begins(path) == {"x": 0.7, "z": 0.0}
    assert changes(path, "joint")["x"] == "limit does not hold 0.7, where a motion holds it: the joint has no limits"


def test_a_gear_to_what_an_equality_holds(tmp_path):
    path = mjcf(tmp_path, LOCK.format(0.25) + GEAR.format("z", "x"), ranges=("10 20", "-10 20"))
    assert begins(path) == {"x": 0.25, "z": 0.25}


@pytest.mark.parametrize(
    "equalities",
    [
        GEAR.format("x", "z") + GEAR.format("z", "x"),
        LOCK.format(0.25) + GEAR.format("x", "z"),
        GEAR.format("x", "z") + LOCK.format(0.25),
    ],
)
def test_gears_that_nothing_leads_are_couplings(tmp_path, equalities):
    """In a circle, or with one that is held already."""
    found = begins(mjcf(tmp_path, equalities, ranges=("-20 20", "-20 20")))
    assert found["x"] == pytest.approx(found["z"], abs=1e-9)


def test_keyframes_leave_out_what_is_held(tmp_path):
    path = mjcf(tmp_path, LOCK.format(0.25), '<keyframe><key name="k" qpos="0.3 0.1"/></keyframe>')
    assert "joint_q: {z: 0.1}" in import_model(path).text.partition("keyframes")[2]
