"""Where commands write: one rule for `-o` of all of them, for stdout, for links, for folders that are missing."""

import json
import os
from inspect import signature
from pathlib import Path

import pytest
from PIL import Image as images
from support.analysis_files import record
from support.process import simcli

from simcli.cli import options
from simcli.cli.app import _GROUPS, COMMANDS
from simcli.errors import Exit, OutputError
from simcli.pipeline import Request, execute, prepare
from simcli.records.drafts import PAGE_TAG, drafted
from simcli.records.reading.reader import open_trajectory

READERS = (
    options.file_to_write,
    options.file_or_stdout,
    options.folder_to_write,
    options.run_file_to_write,
    options.page_to_write,
)
URDF = """<robot name='r'><link name='base'><inertial><mass value='1'/>
<inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/></inertial></link></robot>"""
PENDULUM = """
simcli: 1
bodies: {rod: {pose: {xyz: [0, 0, -0.5]}, mass: 1, inertia: {diag: [0.1, 0.1, 0.01]}}}
joints: {pin: {type: revolute, parent: world, child: rod, axis: [0, 1, 0], q: 0.3}}
solver: {type: generalized, dt: 1.0e-3}
run: {duration: 0.01}
output: {every: 0.01}
"""


def functions():
    """(name, function) of every command, those of groups included."""
    for command in COMMANDS:
        made = command.function()
        if command.name not in _GROUPS:
            yield command.name, made
            continue
        below = made().registered_commands
        yield from ((f"{command.name} {one.name or one.callback.__name__}", one.callback) for one in below)


def outputs():
    """Name of a command and what reads its option `-o`, of all that have one."""
    for name, function in functions():
        for parameter in signature(function).parameters.values():
            for option in getattr(parameter.annotation, "__metadata__", ()):
                if "-o" in (option.param_decls or ()):
                    yield name, option.parser


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    (folder / "s.yaml").write_text(PENDULUM)
    (folder / "r.urdf").write_text(URDF)
    with record(folder / "b.h5", 3, 2, lambda columns: None):
        pass
    return folder


def test_every_output_is_read_by_one_of_these_rules():
    found = dict(outputs())
    assert {"run", "plot", "sweep run", "sweep table", "fk", "schema"} <= found.keys()
    assert {name for name, reads in found.items() if reads not in READERS} == set()


@pytest.mark.parametrize("read", READERS)
def test_an_empty_name_is_refused(read):
    for text in ("", " "):
        with pytest.raises(options.UsageError, match="is no name"):
            read(text)


def test_names_of_folders_and_of_stdout_are_refused_where_a_file_is_meant(tmp_path):
    for text in (f"{tmp_path}/new/", str(tmp_path), "."):
        with pytest.raises(options.UsageError, match="is a folder; name a file in it"):
            options.file_to_write(text)
    with pytest.raises(options.UsageError, match="does not write its output to stdout"):
        options.file_to_write("-")
    with pytest.raises(options.UsageError, match="writes a folder"):
        options.folder_to_write("-")
    assert options.file_or_stdout("-") == options.STDOUT
    assert options.folder_to_write(str(tmp_path)) == tmp_path


@pytest.mark.parametrize(
    ("read", "good", "bad"), [(options.run_file_to_write, "x.hdf5", "x.csv"), (options.page_to_write, "x.html", "v.txt")]
)
def test_a_suffix_of_another_format_is_refused(read, good, bad, tmp_path):
    for name in (good, good.upper(), "x"):
        assert read(str(tmp_path / name)) == tmp_path / name
    with pytest.raises(options.UsageError, match=r"the suffix says the format; .*write a name that ends in"):
        read(str(tmp_path / bad))


@pytest.mark.parametrize("name", ["", ".yaml", "new/"])
def test_a_scene_without_a_name_is_not_written(tmp_path, name):
    done = simcli("new", name, cwd=tmp_path)
    assert (done.returncode, [*tmp_path.iterdir()]) == (Exit.USAGE, [])


@pytest.mark.parametrize(
    "words",
    [["import", "r.urdf"], ["table", "b.h5"], ["samples", "s.yaml"], ["export", "b.h5"], ["schema"]],
    ids=lambda words: words[0],
)
def test_stdout_takes_the_output_or_the_document(folder, words):
    before = sorted(folder.iterdir())
    done = simcli(*words, "-o", "-", cwd=folder)
    assert done.returncode == Exit.OK, done.stderr
    assert done.stdout
    done = simcli(*words, "-o", "-", "--json", cwd=folder)
    assert (done.returncode, json.loads(done.stdout)["exit_code"]) == (Exit.USAGE, Exit.USAGE)
    assert "leave one of them out" in done.stderr
    assert sorted(folder.iterdir()) == before


WITH_JSON = (
    ["run", "s.yaml", "-o", "x.h5"],
    ["run", "s.yaml", "-v", "-o", "x.h5"],
    ["export", "b.h5", "-o", "x.csv"],
    ["export", "b.h5", "-o", "x.pvd"],
    ["export", "s.yaml", "-o", "x.urdf"],
    ["import", "r.urdf", "-o", "x.yaml"],
    ["table", "b.h5", "-o", "x.csv"],
    ["samples", "s.yaml", "-o", "x.csv"],
    ["plot", "b.h5", "-o", "x.png"],
    ["slice", "b.h5", "-o", "x.h5"],
    ["view", "b.h5", "-o", "x.html"],
    ["fk", "s.yaml", "-o", "x.h5"],
    ["fk", "s.yaml", "-o", "x.json"],
    ["schema", "-o", "x.json"],
)


@pytest.mark.parametrize("words", WITH_JSON, ids=" ".join)
def test_a_file_and_one_document_that_names_it(folder, tmp_path, words):
    """With `-o` and `--json` both are made, of every command, and nothing else goes to stdout."""
    done = simcli(*(folder / word if (folder / word).exists() else word for word in words), "--json", cwd=tmp_path)
    assert done.returncode == Exit.OK, done.stderr
    document = json.loads(done.stdout)
    assert document.get("path", document.get("output")) == words[-1]
    assert (tmp_path / words[-1]).stat().st_size > 0


def test_an_export_without_a_file_is_the_table_on_stdout(folder):
    """As text or as JSON; nothing is written beside the run."""
    before = sorted(folder.iterdir())
    text = simcli("export", "b.h5", "--world", "0,1", cwd=folder).stdout.splitlines()
    document = json.loads(simcli("export", "b.h5", "--world", "0,1", "--json", cwd=folder).stdout)
    titles = [f"{one['name']} [{one['unit']}]" if one["unit"] else one["name"] for one in document["columns"]]
    assert titles == text[0].split(",")
    assert (document["path"], document["rows"], document["worlds"]) == (None, len(text) - 1, [0, 1])
    rows = [
        ["" if value is None else repr(value) for value in row]
        for row in zip(*(one["values"] for one in document["columns"]), strict=True)
    ]
    assert rows == [line.split(",") for line in text[1:]]
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize(
    "words",
    [
        ["schema", "-o", "a/b/x.json"],
        ["new", "a/b/x"],
        ["export", "b.h5", "-o", "a/b/x.csv"],
        ["plot", "b.h5", "-o", "a/b/x.png"],
        ["import", "r.urdf", "-o", "a/b/x.yaml"],
        ["table", "b.h5", "-o", "a/b/x.csv"],
        ["slice", "b.h5", "-o", "a/b/x.h5"],
    ],
    ids=lambda words: words[0],
)
def test_missing_folders_are_made(folder, tmp_path, words):
    done = simcli(*(folder / word if word in ("b.h5", "r.urdf") else word for word in words), cwd=tmp_path)
    assert done.returncode == Exit.OK, done.stderr
    assert [path.stem for path in (tmp_path / "a/b").iterdir()] == ["x"]


def test_a_picture_whose_suffix_says_nothing_is_refused(folder, tmp_path):
    done = simcli("plot", folder / "b.h5", "-o", tmp_path / "x")
    assert (done.returncode, [*tmp_path.iterdir()]) == (Exit.USAGE, [])


def test_a_link_stays_and_its_file_is_replaced(tmp_path):
    (tmp_path / "far").mkdir()
    link = tmp_path / "link.txt"
    link.symlink_to(Path("far/file.txt"))
    for text in ("first", "second"):  # what a link names need not be there yet
        with drafted(link) as draft:
            draft.write_text(text)
        assert link.is_symlink()
        assert (tmp_path / "far/file.txt").read_text() == text
    link.unlink()
    link.symlink_to(link)
    with drafted(link) as draft:
        draft.write_text("a link to itself is replaced")
    assert not link.is_symlink()


def run(folder, output, **more):
    return execute(prepare(Request(folder / "s.yaml", output, device="cpu", **more)))


def test_a_run_through_a_link_and_over_an_empty_file(folder, tmp_path):
    real, link = tmp_path / "far.h5", tmp_path / "link.h5"
    real.touch()
    link.symlink_to(real)
    with pytest.raises(OutputError, match="exists; add --force"):
        run(folder, link)
    run(folder, link, force=True)
    assert link.is_symlink()
    with open_trajectory(real) as file:
        assert file.status == "done"
    real.write_bytes(b"")
    assert run(folder, link, resume=True).status == "done"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["far.h5", "link.h5"]


REPLACES = {
    "table": ["table", "b.csv", "-o", "b.csv"],
    "table of two": ["table", "b.h5", "b.csv", "-o", "b.csv"],
    "plot": ["plot", "b.png", "-c", "energy.total"],
    "export": ["export", "b.csv", "-o", "b.csv"],
    "view": ["view", "b.html"],
    "slice": ["slice", "b.h5", "-o", "b.h5", "--force"],
    "import": ["import", "r.urdf", "-o", "r.urdf", "--force"],
    "id": ["id", "b.h5", "-o", "b.h5", "--force"],
    "samples": ["samples", "s.csv", "--worlds", "2", "--vary", "joints.pin.q=uniform(0,1)", "-o", "s.csv"],
    "solve": ["solve", "s.yaml", "-o", "s.yaml", "--force", "--vary", "joints.pin.q=0..1", "--target", "modes.1.damping=1"],
}


@pytest.mark.parametrize("words", REPLACES.values(), ids=REPLACES)
def test_no_command_replaces_what_it_reads(folder, tmp_path, words):
    for name, source in {
        "b.h5": "b.h5",
        "b.csv": "b.h5",
        "b.png": "b.h5",
        "b.html": "b.h5",
        "s.csv": "s.yaml",
        "s.yaml": "s.yaml",
        "r.urdf": "r.urdf",
    }.items():
        (tmp_path / name).write_bytes((folder / source).read_bytes())
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    done = simcli(*words, cwd=tmp_path)
    assert (done.returncode, "is a file that is read, and will not be replaced" in done.stderr) == (Exit.USAGE, True), done
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_no_table_of_a_run_replaces_the_samples_that_the_run_was_made_of(folder, tmp_path):
    """The run keeps them, so that they are known wherever the run lies now."""
    (tmp_path / "few.csv").write_text("joints.pin.q\n0.1\n0.2\n")
    done = simcli("run", folder / "s.yaml", "--vary-table", "few.csv", "-o", "far/b.h5", "-q", cwd=tmp_path)
    assert done.returncode == Exit.OK, done.stderr
    for words in (["table", "far/b.h5", "-o", "few.csv"], ["export", "far/b.h5", "-o", "few.csv"]):
        done = simcli(*words, cwd=tmp_path)
        assert (done.returncode, "that the scene inside reads" in done.stderr) == (Exit.USAGE, True), done
    assert (tmp_path / "few.csv").read_text().startswith("joints.pin.q\n")
    assert simcli("table", "far/b.h5", "-o", "other.csv", cwd=tmp_path).returncode == Exit.OK


# Words of each command that writes one file, and the name; drawn ones bear our mark.
WRITTEN = {
    **{f"export{suffix}": (["export", "b.h5"], f"out{suffix}") for suffix in (".csv", ".parquet", ".npz", ".jsonl", ".sto")},
    "export.pvd": (["export", "b.h5"], "out.pvd"),
    "export.glb": (["export", "b.h5"], "out.glb"),
    "export.urdf": (["export", "s.yaml"], "out.urdf"),
    "import": (["import", "r.urdf"], "out.yaml"),
    "table": (["table", "b.h5"], "out.csv"),
    "samples": (["samples", "s.yaml"], "out.csv"),
    "schema": (["schema"], "out.json"),
    "equilibrium.json": (["equilibrium", "s.yaml"], "out.json"),
    "equilibrium.yaml": (["equilibrium", "s.yaml"], "out.yaml"),
    "slice": (["slice", "b.h5"], "out.h5"),
    "fk": (["fk", "s.yaml"], "out.csv"),
}
DRAWN = {
    **{f"plot{suffix}": (["plot", "b.h5"], f"out{suffix}") for suffix in (".png", ".svg", ".pdf")},
    **{f"render{suffix}": (["render", "b.h5", "--size", "64x64"], f"out{suffix}") for suffix in (".png", ".gif", ".mp4")},
    "view": (["view", "b.h5"], "out.html"),
    "show": (["show", "s.yaml", "--size", "64x64"], "out.png"),
}


@pytest.mark.parametrize("name", [*WRITTEN, *DRAWN])
def test_no_command_replaces_a_file_unasked(folder, tmp_path, name):
    """What exists stays, whatever bears its suffix; what was drawn is drawn again, and nothing else without --force."""
    words, file = {**WRITTEN, **DRAWN}[name]
    output = tmp_path / file
    output.write_text("mine simcli")
    done = simcli(*words, "-o", output, cwd=folder)
    assert (done.returncode, output.read_text()) == (Exit.OUTPUT, "mine simcli"), done.stderr
    assert "will not be replaced" in done.stderr or "exists; add --force to replace it" in done.stderr
    output.unlink()
    assert simcli(*words, "-o", output, cwd=folder).returncode == Exit.OK
    assert simcli(*words, "-o", output, cwd=folder).returncode == (Exit.OUTPUT if name in WRITTEN else Exit.OK)
    assert simcli(*words, "-o", output, "--force", cwd=folder).returncode == Exit.OK


def test_what_a_command_draws_by_its_own_name_replaces_no_picture_of_others(folder, tmp_path):
    copied = tmp_path / "b.h5"
    copied.write_bytes((folder / "b.h5").read_bytes())
    foreign = images.new("RGB", (4, 4))
    foreign.save(tmp_path / "b.png")
    (tmp_path / "b.html").write_text(f"<!doctype html><html><head></head><body>{PAGE_TAG}</body></html>")
    for words in (["plot", copied], ["render", copied, "--size", "64x64"], ["view", copied]):
        assert simcli(*words).returncode == Exit.OUTPUT, words


def test_a_model_does_not_replace_the_source_of_its_scene(folder, tmp_path):
    source = tmp_path / "robot.urdf"
    source.write_text(URDF)
    assert simcli("import", source, "-o", tmp_path / "arm.yaml").returncode == Exit.OK
    assert simcli("export", tmp_path / "arm.yaml", "-o", source).returncode == Exit.OUTPUT
    assert source.read_text() == URDF


@pytest.mark.parametrize("name", ["export.parquet", "export.npz", "slice", "render.mp4", "run"])
def test_formats_that_seek_refuse_a_pipe_at_once(folder, tmp_path, name):
    words, file = {**WRITTEN, **DRAWN, "run": (["run", "s.yaml"], "out.h5")}[name]
    os.mkfifo(tmp_path / file)
    done = simcli(*words, "-o", tmp_path / file, cwd=folder)
    assert done.returncode == Exit.OUTPUT
    assert "is a pipe or a device" in done.stderr
