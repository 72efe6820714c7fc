"""The loader: YAML 1.2 values, marks, attacks, includes and overrides."""

import os
import time

import pytest

from simcli.errors import SceneError
from simcli.spec import load_document, resolve
from simcli.spec.base.fault_list import Faults
from simcli.spec.base.nodes import find, plain
from simcli.spec.base.text import decode
from simcli.spec.document.loader import MAX_ALIASES, parse_text
from simcli.spec.loading import document_of_text

QUICK = 2.0  # s, an attack must be refused within


def read(text):
    faults = Faults()
    node = parse_text(text, "s.yaml", faults)
    return node, faults.found


def write(folder, text, name="scene.yaml"):
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def refused(path, sets=()):
    start = time.perf_counter()
    with pytest.raises(SceneError) as caught:
        resolve(load_document(path, sets))
    assert time.perf_counter() - start < QUICK
    return caught.value.faults


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-3", 1e-3),
        ("1E5", 1e5),
        ("+.5", 0.5),
        ("-.5", -0.5),
        ("1.", 1.0),
        ("010", 10),
        ("0x1F", 31),
        ("0o17", 15),
        ("1:30", "1:30"),
        ("1_000", "1_000"),
        ("on", "on"),
        ("yes", "yes"),
        ("No", "No"),
        ("true", True),
        ("FALSE", False),
        ("~", None),
        ("null", None),
        ("=", "="),
        ("'1'", "1"),
        ("2001-01-01", "2001-01-01"),
        ("18446744073709551615", 2**64 - 1),
    ],
)
def test_scalars_of_yaml_1_2(text, value):
    node, faults = read(f"a: {text}")
    assert not faults
    got = plain(node)["a"]
    assert got == value
    assert type(got) is type(value)


@pytest.mark.parametrize("text", [".inf", "-.INF", ".nan", "1e999", "9" * 30, "9" * 100_000, "0x" + "f" * 1000])
def test_numbers_that_are_not_finite(text):
    start = time.perf_counter()
    _, faults = read(f"a: 1\nb: {text}\n")
    assert time.perf_counter() - start < QUICK
    assert [(fault.code, fault.where.line, fault.where.column) for fault in faults] == [("SC106", 2, 4)]


def test_a_number_that_is_not_finite_has_no_consequences():
    body = "bodies: {rod: {mass: .inf, inertia: {diag: [1, 1, 1]}}}\n"
    with pytest.raises(SceneError) as caught:
        resolve(document_of_text(f"simcli: 1\n{body}", "a.yaml"))
    assert [fault.code for fault in caught.value.faults] == ["SC106"]


def test_marks_of_keys_and_values():
    node, _ = read('a:\n  - {b: "x y", c: [1, 2]}\n  - 12\n')
    assert node.keys["a"][1:] == (1, 1, 1)
    entry = find(node, ("a", 0))
    assert entry.mark[1:] == (2, 5, 21)
    assert entry.keys["c"][1:] == (2, 16, 1)
    assert entry.items["b"].mark[1:] == (2, 9, 5)
    assert entry.items["c"].mark[1:] == (2, 19, 6)
    assert find(node, ("a", 0, "c", 1)).mark[1:] == (2, 23, 1)
    assert find(node, ("a", 1)).mark[1:] == (3, 5, 2)


def test_all_duplicate_keys_are_found():
    _, faults = read("a: 1\nb: {c: 1, c: 2}\na: 3\n")
    assert [(fault.code, fault.where.line, fault.where.column) for fault in faults] == [("SC102", 2, 11), ("SC102", 3, 1)]


def bomb(levels=10):
    lines = ["l0: &l0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"l{i}: &l{i} [" + ", ".join([f"*l{i - 1}"] * 9) + "]" for i in range(1, levels)]
    return "\n".join(lines)


ATTACKS = {
    "alias bomb": (bomb(), "SC105"),
    "flow nesting": ("a: " + "[" * 200_000, "SC105"),
    "map nesting": ("{a: " * 200_000, "SC105"),
    "block nesting": ("- " * 200_000 + "x", "SC105"),
    "indented nesting": ("\n".join(" " * i + "a:" for i in range(3000)), "SC105"),
    "closing brackets": ("a: " + "]" * 200_000, "SC101"),
    "alias chain": ("\n".join(f"a{i}: &a{i} [*a{i - 1}]" if i else "a0: &a0 [1]" for i in range(200)), "SC105"),
    "self alias": ("a: &a [*a]", "SC105"),
    "unknown alias": ("a: *b", "SC101"),
    "many aliases": ("a: &a 1\nb: [" + ", ".join(["*a"] * (MAX_ALIASES + 1)) + "]", "SC105"),
    "tag": ("a: !!python/object/apply:os.system [ls]", "SC107"),
    "local tag": ("a: !x 1", "SC107"),
    "tag on a map": ("!!map {a: 1}", "SC107"),
    "tag directive": ("%TAG ! tag:x,2000:\n---\na: 1", "SC107"),
    "tag on a key": ("!!str a: 1", "SC107"),
    "merge": ("a: &a {b: 1}\nc: {<<: *a}", "SC107"),
    "two documents": ("a: 1\n---\nb: 1", "SC103"),
    "list as key": ("? [a, b]\n: 1", "SC108"),
    "map as key": ("? {a: b}\n: 1", "SC108"),
    "alias as key": ("a: &a x\n*a : 1", "SC108"),
    "open quote": ('a: "b', "SC101"),
    "open bracket": ("a: [1, 2", "SC101"),
    "tab": ("a:\n\tb: 1", "SC101"),
    "huge key": ("a" * 2000 + ": 1", "SC101"),
    "percent": ("a: %x", "SC101"),
    "many errors": ("a: [" + "1e999, " * 2000 + "]", "SC106"),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_attacks(name):
    text, code = ATTACKS[name]
    start = time.perf_counter()
    _, faults = read(text)
    assert time.perf_counter() - start < QUICK
    assert code in {fault.code for fault in faults}
    for fault in faults:
        assert 1 <= fault.where.line <= text.count("\n") + 1
        assert fault.where.column >= 1
        assert len(fault.message) < 300
        assert "\n" not in fault.message


@pytest.mark.parametrize(
    ("data", "line", "column"),
    [
        (b"a: 1\nb: \x00", 2, 4),
        (b"a: 1\nb: \xff", 2, 4),
        ("a: 1".encode("utf-16"), 1, 1),
        ("a: 1".encode("utf-32"), 1, 1),
        (b"\xef\xbb\xbf\xef\xbb\xbfa: 1", 1, 1),
        ("a: 1\nbé: \x1b[31m".encode(), 2, 5),
        ("a: \u2028".encode(), 1, 4),
        (b"\x89HDF\r\n\x1a\n\x00\x00", 1, 1),
    ],
)
def test_texts_that_are_not_utf8(data, line, column):
    faults = Faults()
    assert decode(data, "s.yaml", faults) is None
    assert [(f.code, f.where.line, f.where.column) for f in faults.found] == [("SC104", line, column)]


def test_a_file_that_is_too_large(tmp_path):
    path = tmp_path / "scene.yaml"
    with open(path, "wb") as file:
        file.truncate(65 * 2**20)
    assert [fault.code for fault in refused(path)] == ["SC105"]


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_line_endings_and_byte_order_mark(tmp_path, ending, mark):
    text = mark + ending.join(["simcli: 1", "bodies:", "  a: {mas: 1}", ""])
    faults = refused(write(tmp_path, text))
    where = faults[0].where
    assert (faults[0].code, where.line, where.column, where.length) == ("SC204", 3, 7, 3)


@pytest.mark.parametrize("text", ["", "# only a comment\n", "---\n", "null", "- a", "text", "42"])
def test_files_that_are_no_scene(tmp_path, text):
    assert {fault.code for fault in refused(write(tmp_path, text))} == {"SC109"}


def test_files_that_cannot_be_read(tmp_path):
    assert [fault.code for fault in refused(tmp_path / "no.yaml")] == ["SC110"]
    assert [fault.code for fault in refused(tmp_path)] == ["SC110"]
    os.mkfifo(tmp_path / "pipe.yaml")
    assert [fault.code for fault in refused(tmp_path / "pipe.yaml")] == ["SC110"]
    assert [fault.code for fault in refused(str(tmp_path / "nul\x00.yaml"))] == ["SC110"]


def test_a_pipe_is_told_as_what_it_is(tmp_path):
    """Such as /dev/stdin: its real path is of no file."""
    reading, writing = os.pipe()
    try:
        (fault,) = refused(f"/dev/fd/{reading}")
    finally:
        os.close(reading)
        os.close(writing)
    assert (fault.code, "is not a file" in fault.message, "write it to one" in fault.hint) == ("SC110", True, True)
    (tmp_path / "loop.yaml").symlink_to(tmp_path / "loop.yaml")
    assert [fault.code for fault in refused(tmp_path / "loop.yaml")] == ["SC110"]


GOOD = "simcli: 1\nbodies:\n  a: {mass: 1, inertia: {diag: [1, 1, 1]}}\n"


def test_includes_are_merged_under_the_file(tmp_path):
    write(tmp_path / "parts", "materials: {steel: {density: 7000, friction: 0.1}}\ninclude: [more.yaml]\n", "m.yaml")
    write(tmp_path / "parts", "materials: {steel: {restitution: 0.3, friction: 0.9}, oak: {density: 700}}\n", "more.yaml")
    path = write(tmp_path, GOOD + "include: [parts/m.yaml]\nmaterials: {steel: {density: 7850}}\n")
    document = load_document(path)
    spec = resolve(document)
    steel = spec.materials["steel"]
    assert (steel.density, steel.friction, steel.restitution) == (7850, 0.1, 0.3)
    assert spec.materials["oak"].density == 700
    assert [name for name, _ in document.sources] == ["scene.yaml", "parts/m.yaml", "parts/more.yaml"]


def test_a_fault_in_an_include_points_there(tmp_path):
    write(tmp_path / "parts", "materials:\n  steel: {densty: 7000}\n", "m.yaml")
    faults = refused(write(tmp_path, GOOD + "include: parts/m.yaml\n"))
    assert [fault.code for fault in faults] == ["SC204"]
    where = faults[0].where
    assert where.file.endswith(os.path.join("parts", "m.yaml"))
    assert (where.line, where.column) == (2, 11)


@pytest.mark.parametrize(
    "name", ["../m.yaml", "../../etc/passwd", "parts/../../m.yaml", "{tmp}/m.yaml", "/etc/passwd", "/dev/zero"]
)
def test_includes_outside(tmp_path, name):
    write(tmp_path, "materials: {}\n", "m.yaml")
    path = write(tmp_path / "scene", GOOD + f"include: ['{name.format(tmp=tmp_path)}']\n")
    faults = refused(path)
    assert [(fault.code, fault.where.line, fault.where.column) for fault in faults] == [("SC111", 4, 11)]


def test_an_include_through_a_symbolic_link(tmp_path):
    secret = write(tmp_path, "materials: {}\n", "m.yaml")
    path = write(tmp_path / "scene", GOOD + "include: [link.yaml]\n")
    (tmp_path / "scene" / "link.yaml").symlink_to(secret)
    assert [fault.code for fault in refused(path)] == ["SC111"]
    (tmp_path / "scene" / "inner").symlink_to(tmp_path)
    path = write(tmp_path / "scene", GOOD + "include: [inner/m.yaml]\n")
    assert [fault.code for fault in refused(path)] == ["SC111"]


def test_include_cycles_and_loops_of_links(tmp_path):
    write(tmp_path, "include: [b.yaml]\n", "a.yaml")
    write(tmp_path, "include: [a.yaml]\n", "b.yaml")
    path = write(tmp_path, GOOD + "include: [a.yaml]\n")
    assert [fault.code for fault in refused(path)] == ["SC112"]
    assert [fault.code for fault in refused(write(tmp_path, GOOD + "include: [scene.yaml]\n"))] == ["SC112"]
    (tmp_path / "loop.yaml").symlink_to(tmp_path / "loop.yaml")
    assert {fault.code for fault in refused(write(tmp_path, GOOD + "include: [loop.yaml]\n"))} == {"SC110"}


def test_a_tower_of_diamonds_is_read_once(tmp_path):
    for i in range(40):
        write(tmp_path, f"include: [d{i + 1}.yaml, d{i + 1}.yaml]\n", f"d{i}.yaml")
    write(tmp_path, "materials: {steel: {density: 1}}\n", "d40.yaml")
    path = write(tmp_path, GOOD + "include: [d0.yaml]\n")
    start = time.perf_counter()
    assert resolve(load_document(path)).materials["steel"].density == 1
    assert time.perf_counter() - start < QUICK


def test_includes_of_the_wrong_kind(tmp_path):
    assert [fault.code for fault in refused(write(tmp_path, GOOD + "include: [1, {a: 2}]\n"))] == ["SC203", "SC203"]
    write(tmp_path, "- a\n", "list.yaml")
    assert [fault.code for fault in refused(write(tmp_path, GOOD + "include: [list.yaml]\n"))] == ["SC109"]
    faults = refused(write(tmp_path, GOOD + "include: [lits.yaml]\n"))
    assert (faults[0].code, faults[0].hint) == ("SC110", "did you mean `list.yaml`?")


def test_overrides(tmp_path):
    path = write(tmp_path, GOOD + "world: {gravity: [0, 0, -9.81]}\n")
    sets = [
        "bodies.a.mass=2 kg",
        "world.gravity[2]=-1.62",
        "run={duration: 3}",
        "bodies.b={mass: 1, inertia: {diag: [1, 1, 1]}}",
    ]
    spec = resolve(load_document(path, sets))
    assert spec.bodies["a"].mass == 2
    assert spec.world.gravity == (0, 0, -1.62)
    assert spec.run.duration == 3
    assert list(spec.bodies) == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "code", "column"),
    [
        ("bodies.a.mass=-1", "SC401", 15),
        ("bodies.a.mass", "SC113", 1),
        ("=1", "SC113", 1),
        ("bodies..a=1", "SC113", 1),
        ("bodies.a.mass=[1", "SC101", 15),
        ("bodies.a.mass={a: 1, a: 2}", "SC102", 22),
        ("bodies.a.mas=1", "SC204", 1),
        ("bodies.c.mass=1", "SC301", 1),
        ("world.gravity[3]=1", "SC113", 1),
        ("bodies.a.velocity.linear[0]=1", "SC113", 1),
        ("simcli.x=1", "SC113", 1),
        ("include=[a]", "SC113", 1),
        ("bodies.a.com[99999999999999999999]=1", "SC113", 1),
        ("run.duration=!!int 1", "SC107", 14),
        ("run.duration=.inf", "SC106", 14),
    ],
)
def test_overrides_that_are_wrong(tmp_path, text, code, column):
    faults = refused(write(tmp_path, GOOD), ["name=x", text])
    where = faults[0].where
    assert (faults[0].code, where.file, where.line, where.column) == (code, "--set", 2, column)


def test_defaults_and_the_name_of_an_included_file_stay_in_it(tmp_path):
    robot = """name: robot
defaults: {shape: {layers: [robot]}, joint: {damping: 2, limit: [-1, 1]}, body: {inertia: {diag: [2, 2, 2]}}}
world: {shapes: {own: {type: plane}}}
bodies: {arm: {mass: 1, shapes: {s: {type: sphere, radius: 1}}}}
joints: {pin: {type: revolute, parent: world, child: arm}, weld: {type: fixed, parent: world, child: arm, loop: true}}
models: {leg: {bodies: {foot: {mass: 1}}}}
"""
    write(tmp_path, robot, "robot.yaml")
    path = write(
        tmp_path,
        """simcli: 1
include: [robot.yaml]
defaults: {joint: {damping: 3, friction: 1}}
world: {shapes: {ground: {type: plane}}}
bodies: {ball: {mass: 1, inertia: {diag: [1, 1, 1]}, shapes: {s: {type: sphere, radius: 1}}}}
joints: {slide: {type: prismatic, parent: world, child: ball}}
instances: {left: {model: leg}}
run: {duration: 1}
""",
    )
    spec = resolve(load_document(path))
    assert spec.name == path.stem
    assert (spec.bodies["arm"].shapes["s"].layers, spec.world.shapes["own"].layers) == (("robot",), ("robot",))
    assert (spec.bodies["ball"].shapes["s"].layers, spec.world.shapes["ground"].layers) == (("default",), ("default",))
    pin, slide = spec.joints["pin"], spec.joints["slide"]
    assert (pin.damping, pin.friction, slide.damping) == ((2.0,), (1.0,), (3.0,))
    assert slide.limit is None
    assert spec.bodies["left/foot"].inertia == spec.bodies["arm"].inertia


def test_defaults_of_an_included_file_are_checked(tmp_path):
    write(tmp_path, "defaults: {jiont: {damping: 1}}\n", "robot.yaml")
    faults = refused(write(tmp_path, GOOD + "include: robot.yaml\n"))
    assert (faults[0].code, faults[0].where.file.endswith("robot.yaml")) == ("SC204", True)
