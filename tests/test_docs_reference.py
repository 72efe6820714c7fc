"""The pages on units, expressions, names and coordinates: all that the code has stands there, and what they say holds."""

import re
from importlib.resources import files

import pytest
from support.scenes import scene

from simcli.errors import SceneError
from simcli.model import build
from simcli.model.joints.catalogue import CATALOGUE
from simcli.spec import resolve
from simcli.spec.document.scene_file import load_document
from simcli.spec.faults.codes import over
from simcli.spec.names import dofs
from simcli.spec.names.channel_names import GROUPS, ON_DEMAND, SCALARS, of_group
from simcli.spec.names.patterns import matching
from simcli.spec.values.expressions import CONSTANTS, FUNCTIONS, ExpressionError, evaluate
from simcli.spec.values.units import UNITS, UnitError, describe, to_si

ROUNDING = 1e-14  # relative: a product or two


def page(name):
    return files("simcli").joinpath("docs", f"{name}.md").read_text(encoding="utf-8")


def tables(name):
    """The tables of a page: header, rows."""
    for block in re.findall(r"(?:^\|.*\|\n)+", page(name), re.MULTILINE):
        rows = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in block.splitlines()]
        yield rows[0], rows[2:]


def rows_of(name, *header):
    return [row for head, rows in tables(name) if tuple(head) == header for row in rows]


def scenes(name):
    return [text for text in re.findall(r"```yaml\n(.*?)```", page(name), re.DOTALL) if text.startswith("simcli: 1\n")]


def spec_of(text):
    return resolve(scene(text.removeprefix("simcli: 1\n")))


def code(cell):
    return cell.strip("`")


def number_of(cell):
    """A number of a page, where stars that are none of Markdown's are escaped."""
    return cell.strip().replace("\\*", "*")


def known(name):
    """The parameters of the page on expressions."""
    if name != "L":
        raise ExpressionError(f"unknown parameter `{name}`", code="SC222")
    return 0.4


@pytest.mark.parametrize("name", ["units", "expressions", "names"])
def test_scenes_of_the_pages_are_valid(name):
    assert scenes(name)
    for text in scenes(name):
        assert spec_of(text)


def test_every_unit_stands_on_the_page_with_its_dimension_and_value():
    found = {}
    for words, symbols in rows_of("units", "dimension", "symbols"):
        for symbol, value in re.findall(r"`([^`]+)` ([^,]+)", symbols):
            assert symbol not in found
            found[symbol] = words
            factor, dimension = UNITS[symbol]
            assert re.sub("^an? ", "", describe(dimension)) == words, symbol
            assert evaluate(number_of(value), {}) == pytest.approx(factor, rel=ROUNDING), symbol
    assert set(found) == set(UNITS)


def test_examples_of_units_have_the_numbers_of_the_page():
    rows = rows_of("units", "text", "of a key in", "number")
    assert len(rows) > 10
    for text, unit, number in rows:
        assert to_si(code(text), code(unit)) == pytest.approx(evaluate(number_of(number), {}), rel=ROUNDING), text


def test_refusals_of_units_are_those_of_the_page():
    rows = rows_of("units", "text", "of a key in", "fault")
    assert len(rows) > 5
    for text, unit, fault in rows:
        with pytest.raises(UnitError) as caught:
            to_si(code(text), code(unit))
        assert caught.value.code == fault, text


def test_numbers_of_the_scene_on_units():
    (text,) = scenes("units")
    spec = spec_of(text)
    rod, pin = spec.bodies["rod"], spec.joints["pin"]
    assert (rod.mass, rod.com[0], spec.solver.dt) == (0.5, 0.2, 0.0005)
    assert spec.world.gravity[2] == -9.80665
    assert rod.inertia.diag[0] == pytest.approx(3e-4, rel=ROUNDING)
    assert pin.damping == pytest.approx((0.005,), rel=ROUNDING)
    assert pin.qd == pytest.approx((evaluate("2*pi", {}),), rel=ROUNDING)


def test_every_function_and_constant_stands_on_the_page():
    rows = {code(name): (takes, what) for name, takes, what in rows_of("expressions", "name", "takes", "is")}
    assert set(rows) == {*FUNCTIONS, *CONSTANTS}
    for name, (_, least, most) in FUNCTIONS.items():
        assert rows[name][0] == (f"{least}" if least == most else f"{least} to {most}")
    for name, value in CONSTANTS.items():
        assert float(rows[name][1]) == value


def test_expressions_of_the_page_have_its_values_and_faults():
    rows = rows_of("expressions", "expression", "at L = 0.4")
    assert len(rows) > 5
    for text, number in rows:
        assert evaluate(code(text), known) == pytest.approx(float(number), rel=ROUNDING), text
    rows = rows_of("expressions", "expression", "fault", "because")
    assert len(rows) > 5
    for text, fault, _ in rows:
        with pytest.raises(ExpressionError) as caught:
            evaluate(code(text), known)
        assert caught.value.code == fault, text


def test_numbers_of_the_scenes_on_expressions():
    pendulum, models = map(spec_of, scenes("expressions"))
    rod, pin = pendulum.bodies["rod"], pendulum.joints["pin"]
    assert (rod.mass, rod.com[0]) == (0.8, 0.2)
    assert pin.q == pytest.approx((evaluate("pi/6", {}),), rel=ROUNDING)
    assert pin.at[2] == pytest.approx(0.4 * evaluate("sqrt(3)/2", {}), rel=ROUNDING)
    assert pin.damping == (4.0,)
    masses = {name: body.mass for name, body in models.bodies.items()}
    assert masses == {"left/rod": 0.8, "right/rod": 0.5}


def test_patterns_of_the_page_on_names():
    (text,) = scenes("names")
    spec = spec_of(text)
    joints = [*spec.joints, "ball_free"]
    rows = rows_of("names", "pattern", "means")
    assert len(rows) > 5
    for pattern, means in rows:
        assert ", ".join(joints[k] for k in matching(joints, code(pattern))) == means, pattern


def test_every_quantity_stands_on_the_page_on_names():
    rows = {code(group): tuple(map(code, words.split(", "))) for group, words in rows_of("names", "group", "quantities")}
    named = {group: of_group(group) for group in {**GROUPS, **ON_DEMAND} if of_group(group)}
    assert rows == {**named, **SCALARS}


def test_conditions_of_the_page_on_names_are_valid():
    (text,) = scenes("names")
    (conditions,) = re.findall(r"```yaml\n(run:.*?)```", page("names"), re.DOTALL)
    spec = spec_of(over(text, conditions))
    assert spec.run.stop_when.above == pytest.approx(evaluate("pi/3", {}), rel=ROUNDING)
    assert [one.channel for one in spec.expect] == ["energy.drift", "joint.right/pin.qd"]


VALUES = {"gravity": -3.0, "damping": 0.5, "mass": 2.0, "dt": 0.002}


@pytest.mark.parametrize("row", rows_of("names", "path", "`--set`", "`batch.vary`", "`events.set`"), ids=lambda row: row[0])
def test_paths_of_the_page_on_names(tmp_path, row):
    path, *cells = code(row[0]), *row[1:]
    (text,) = scenes("names")
    file = tmp_path / "scene.yaml"
    value = VALUES[re.findall("[a-z]+", path)[-1]]
    uses = {
        "--set": ("", [f"{path}={value}"]),
        "batch.vary": (f"batch: {{vary: {{'{path}': {{grid: [{value}, {value / 2}]}}}}}}\n", []),
        "events.set": (f"events: [{{at: 0.5, set: {{'{path}': {value}}}}}]\n", []),
    }
    for (use, (more, sets)), cell in zip(uses.items(), cells, strict=True):
        file.write_text(text + more)
        found = set()
        try:
            resolve(load_document(file, sets=sets))
        except SceneError as error:
            found = {fault.code for fault in error.faults}
        assert cell == ("refused" if found else "yes"), use
        assert found <= {"SC316", "SC317"}, use


def units_in(cell):
    return [unit for unit in cell.split(", ") if unit]


def test_every_joint_type_stands_on_the_page_with_its_units():
    rows = {code(name): cells for name, *cells in rows_of("coordinates", "type", "q", "units of q", "units of qd")}
    others = {code(name): re.findall("`([^`]+)`", same)[0] for name, same in rows_of("coordinates", "name", "the same as")}
    assert {*rows, *others} == set(dofs.TYPES) == set(CATALOGUE)
    assert others == dofs.SAME
    for name, (_, of_q, of_qd) in rows.items():
        if name == "d6":  # by its axes
            continue
        kinds = dofs.kinds(name)
        q_kinds = dofs.q_kinds(name, kinds)
        assert units_in(of_q) == [unit or "1" for unit in dofs.units("position", q_kinds)], name
        assert units_in(of_qd) == dofs.units("velocity", kinds), name
        motion = CATALOGUE[name]
        if name != "cable":
            assert ("quaternion" in rows[name][0]) == motion.has_quaternion, name


def test_a_free_joint_has_the_velocity_of_the_centre_of_mass_along_the_parent_anchor_frame():
    """The parent anchor is turned by 90 deg about z: its x axis is the world's y, its y axis the world's -x."""
    document = scene("""
bodies:
  b:
    mass: 1
    com: [0.5, 0, 0]
    inertia: {diag: [0.1, 0.1, 0.1]}
    velocity: {linear: [1, 2, 3], angular: [4, 5, 6]}
joints:
  j: {type: free, parent: world, child: b, parent_frame: {rpy: [0, 0, 90 deg]}, child_frame: {xyz: [0.1, 0, 0]}}
run: {duration: 1}
""")
    model = build(resolve(document), document)
    assert model.joint_qd[0] == pytest.approx([2, -1, 3, 5, -4, 6], rel=ROUNDING)
