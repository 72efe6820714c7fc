"""MJCF files that are refused or lose something: hostile ones, faults of included files, options that a file states."""

import sys

import pytest
from support.mjcf_kinds import BALL, MODEL, bodies, fates, imported, model_file

from simcli.errors import FileError, UsageError
from simcli.exchange.importing import ImportOptions, import_model, load_scene
from simcli.model import build
from simcli.spec import resolve

pytest.importorskip("mujoco")
REFUSED = {
    "an entity": ('<!DOCTYPE m [<!ENTITY a "b">]><mujoco model="&a;"/>', "model.xml:1: has a document type"),
    "an unknown attribute": (bodies('\n<geom sise="1"/>'), "model.xml:2: MuJoCo refuses the file: XML Error: "),
    "no mass": (bodies('\n\n<body name="a"><joint/></body>'), "model.xml:3: MuJoCo refuses the file: "),
    "an include outside": ('<mujoco>\n<include file="../secret.xml"/></mujoco>', "model.xml:2: `../secret.xml` lies out"),
    "an absolute include": ('<mujoco><include file="/etc/hosts"/></mujoco>', "`/etc/hosts` lies outside"),
    "an include twice": ('<mujoco><include file="parts.xml"/><include file="parts.xml"/></mujoco>', "a second time"),
    "an include of itself": ('<mujoco><include file="model.xml"/></mujoco>', "included a second time"),
    "no include": ('<mujoco><include file="none.xml"/></mujoco>', "model.xml:1: there is no file `none.xml`"),
    "a mesh outside": ('<mujoco><asset><mesh name="m" file="../secret.obj"/></asset></mujoco>', "lies outside"),
    "a mesh folder outside": ('<mujoco><compiler meshdir=".."/><asset><mesh file="secret.obj"/></asset></mujoco>',
                              "lies outside"),
    "a link outside": ('<mujoco><asset><mesh name="m" file="way.obj"/></asset></mujoco>', "lies outside"),
    "no mesh": ('<mujoco><asset><mesh file="none.stl"/></asset></mujoco>', "there is no file `none.stl`"),
    "a height field outside": ('<mujoco><asset><hfield file="../secret.obj" size="1 1 1 1"/></asset></mujoco>', "lies out"),
    "another model": ('<mujoco><asset><model name="m" file="parts.xml"/></asset></mujoco>', "<model> reads another file"),
    "a plugin": ('<mujoco><extension><plugin plugin="x"/></extension></mujoco>', "needs a plugin"),
    "a soft body": (bodies('<flexcomp name="f" type="grid" count="2 2 2"/>'), "bodies that bend"),
    "a file elsewhere": (bodies('<geom type="sphere" size="0.1" file="parts.xml"/>'), "<geom> reads another file"),
    "a million copies": (bodies('<replicate count="1000">' * 2 + f"<body><joint/>{BALL}</body>" + "</replicate>" * 2),
                         "makes more than 100000 copies"),
    "a huge height field": ('<mujoco><asset><hfield name="h" nrow="100000" ncol="100000" size="1 1 1 1"/></asset></mujoco>',
                            "more than 16777216 heights"),
    "half a file": (MODEL[:900], "no XML"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_hostile_files_are_refused_by_their_line(tmp_path, name):
    text, words = REFUSED[name]
    (tmp_path / "secret.xml").write_text("<mujocoinclude/>")
    (tmp_path / "secret.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\n")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "way.obj").symlink_to(tmp_path / "secret.obj")
    with pytest.raises(FileError) as caught:
        imported(tmp_path / "in", text)
    assert words in str(caught.value)


def test_memory_and_pictures_are_left_alone(tmp_path):
    """Sizes of memory, pictures and skins are not handed to MuJoCo, whatever they say."""
    text = bodies('<body><freejoint/><geom size="0.1" material="m"/></body>', """
      <size memory="900G" nuser_body="1000000000"/><asset>
      <texture name="t" type="2d" file="../secret.png"/><material name="m" texture="t" rgba="0 1 0 1"/>
      <texture type="skybox" builtin="flat" width="100000" height="100000"/></asset>""")  # fmt: skip
    report = imported(tmp_path, text).report
    assert fates(report, "size")[""][0] == "dropped"
    assert fates(report, "material@texture")["m"][0] == "dropped"


def test_folders_of_meshes_may_be_named(tmp_path):
    (tmp_path / "far").mkdir()
    points = ((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1))
    faces = "f 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
    (tmp_path / "far" / "part.obj").write_text("".join("v {} {} {}\n".format(*point) for point in points) + faces)
    text = """<mujoco><compiler meshdir="../far"/><asset><mesh file="part.obj" scale="2 2 2"/></asset><worldbody>
      <body><freejoint/><geom type="mesh" mesh="part"/></body></worldbody></mujoco>"""
    path = model_file(tmp_path / "in", text)
    with pytest.raises(FileError, match="--package-path"):
        import_model(path)
    found = import_model(path, ImportOptions(search=[tmp_path / "far"]))
    assert list(found.files) == ["meshes/part.obj"]
    assert "scale: 2" in found.text


def test_a_fault_in_an_included_file_has_its_line(tmp_path):
    path = model_file(tmp_path, '<mujoco><include file="parts.xml"/></mujoco>')
    (tmp_path / "parts.xml").write_text('<mujocoinclude>\n<worldbody>\n<geom sise="1"/></worldbody></mujocoinclude>')
    with pytest.raises(FileError, match=r"parts\.xml:3: MuJoCo refuses"):
        import_model(path)


@pytest.mark.parametrize(("more", "loses"), [("", False), ("<option iterations='7' tolerance='1e-3'/>", False),
                                             ("<option impratio='3'/>", True), ("<option density='1'/>", True)])  # fmt: skip
def test_what_moves_nothing_is_no_loss(tmp_path, more, loses):
    """Lights, textures, user data, and how long MuJoCo's solver looks; not what its laws depend on."""
    text = f"""<mujoco>{more}<statistic extent="1"/><visual/><custom><numeric name="n" data="1"/></custom><worldbody>
      <light pos="0 0 1"/><body user="1"><freejoint/><geom size="1" group="2"/></body></worldbody></mujoco>"""
    report = import_model(model_file(tmp_path, text)).report
    assert report.loses == loses
    noted = {one.kind for one in report.entries if one.is_note}
    assert {"light", "statistic", "numeric", "geom@group"} <= noted


@pytest.mark.parametrize("option", [{"base": "floating"}, {"fix_inertia": True}, {"self_collision": True}])
def test_what_the_file_says_itself_is_no_option(tmp_path, option):
    with pytest.raises(UsageError, match="is not for MJCF"):
        import_model(model_file(tmp_path), ImportOptions(**option))


def test_a_scene_needs_neither_mujoco_nor_the_source(tmp_path, monkeypatch):
    path = model_file(tmp_path)
    found = import_model(path)
    scene = tmp_path / "scene.yaml"
    scene.write_text(found.text)
    for name, data in found.files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(data)
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(UsageError, match=r"MJCF needs mujoco: pip install 'simcli\[import\]'"):
        import_model(path)
    path.unlink()
    document = load_scene(scene)
    build(resolve(document), document)
