"""`simcli id --differentiate spline`: the efforts of a recorded motion of which only the coordinates are known."""

import numpy as np
import pytest
from support.process import run_here
from support.runs import MIXED

from simcli.errors import Exit

pytest.importorskip("scipy", reason="scipy is not installed")
pytestmark = pytest.mark.usefixtures("scalar_code")
CPU = ("--device", "cpu", "--threads", "1")
MIDDLE = 1e-5  # of the largest effort: fourth order of 1 ms in motions of up to 20 rad/s, ends left out
RATES_GIVEN = 1e-6  # likewise, one derivative less
ENDS = 6  # samples at each end, where the spline has neighbours on one side only


def command(capfd, *words):
    code = run_here(*words)
    said = capfd.readouterr()
    assert "Traceback" not in said.err
    return code, said.err


@pytest.fixture(scope="module")
def motion(tmp_path_factory):
    """A run of a sliding, a ball, a hinge and a free joint, with a frame in each step."""
    folder = tmp_path_factory.mktemp("motion")
    (folder / "mixed.yaml").write_text(MIXED)
    words = ("run", folder / "mixed.yaml", "-o", folder / "run.h5", "-q", "--set", "solver.integrator=rk4",
             "--set", "output.every=0.001", *CPU)  # fmt: skip
    assert run_here(*words, debug=True) == Exit.OK
    return folder


def efforts(path):
    header, *rows = path.read_text().splitlines()
    columns = [k for k, name in enumerate(header.split(",")) if ".effort" in name]
    return np.array([[float(row.split(",")[k]) for k in columns] for row in rows])


@pytest.mark.parametrize(("given", "bound"), [("joint.*.q", MIDDLE), ("joint.*.q,joint.*.qd", RATES_GIVEN)])
def test_efforts_follow_from_coordinates_over_time(motion, tmp_path, capfd, given, bound):
    scene = motion / "mixed.yaml"
    command(capfd, "export", motion / "run.h5", "-c", given, "-o", tmp_path / "q.csv")
    code, said = command(capfd, "id", scene, "--states", tmp_path / "q.csv", "--differentiate", "spline",
                         "-o", tmp_path / "found.csv", *CPU)  # fmt: skip
    assert code == Exit.OK, said
    assert "count as zero" not in said
    command(capfd, "id", motion / "run.h5", "-o", tmp_path / "wanted.csv", *CPU)
    found, wanted = efforts(tmp_path / "found.csv"), efforts(tmp_path / "wanted.csv")
    inner = slice(ENDS, -ENDS)
    assert np.abs(found - wanted)[inner].max() < bound * np.abs(wanted).max()


def test_missing_derivatives_are_told_and_wrong_tables_refused(motion, tmp_path, capfd):
    scene, table = motion / "mixed.yaml", tmp_path / "q.csv"
    command(capfd, "export", motion / "run.h5", "-c", "joint.*.q", "-o", table)
    _, said = command(capfd, "id", scene, "--states", table, "-o", tmp_path / "held.csv", *CPU)
    assert "has no rates and no accelerations: they count as zero; --differentiate spline" in said
    lines = table.read_text().splitlines()
    for text, words in {
        "\n".join(lines[:5]): "has 4 states of world 0; a spline of degree 5 takes 6 or more",
        "\n".join([*lines, lines[-1]]): "has two states of world 0 at 0.06 s",
        "\n".join(line.split(",", 1)[1] for line in lines): "have no times: add a column `time`",
    }.items():
        table.write_text(text + "\n")
        code, said = command(capfd, "id", scene, "--states", table, "--differentiate", "spline", *CPU)
        assert code == Exit.USAGE
        assert words in said
    code, said = command(capfd, "id", motion / "run.h5", "--differentiate", "spline", *CPU)
    assert code == Exit.USAGE
    assert "a run holds its rates" in said


PLAYED = """simcli: 1
world: {gravity: [0, 0, 0]}
bodies: {b: {mass: 2, inertia: {diag: [1, 1, 1]}}, c: {mass: 2, inertia: {diag: [1, 1, 1]}, pose: {xyz: [0, 3, 0]}}}
joints:
  even: {type: prismatic, parent: world, child: b, axis: [1, 0, 0], motion: {position: $even}}
  wild: {type: prismatic, parent: world, child: c, axis: [1, 0, 0], motion: {position: $wild}}
signals:
  even: {table: {time: TIMES, value: EVEN, interpolate: cubic}}
  wild: {table: {time: TIMES, value: WILD, interpolate: cubic}}
run: {duration: 0.5}
output: {every: 0.05}
solver: {dt: 0.01}
"""


@pytest.mark.parametrize("solver", ["generalized", "maximal", "natural"])
def test_a_table_that_is_played_back_has_the_efforts_of_its_differentiated_coordinates(solver, tmp_path, capfd):
    """Of an even acceleration, 10 m/s^2 of 2 kg, to its ends; of an uneven motion the numbers of `--differentiate cubic`."""
    times = np.array([0.0, 0.1, 0.15, 0.25, 0.4, 0.5])
    even, wild = 5.0 * times**2, np.array([0.1, -0.2, 0.3, 0.25, -0.1, 0.0])
    scene, table, said = tmp_path / "played.yaml", tmp_path / "q.csv", {}
    numbers = {"TIMES": times, "EVEN": even, "WILD": wild}
    text = PLAYED
    for word, values in numbers.items():
        text = text.replace(word, str(values.tolist()))
    scene.write_text(text)
    command(capfd, "run", scene, "-o", tmp_path / "run.h5", "-q", "--set", f"solver.type={solver}", *CPU)
    rows = np.column_stack((times, even, wild))
    table.write_text("time,even,wild\n" + "\n".join(",".join(map(repr, row)) for row in rows.tolist()) + "\n")
    for kind in ("spline", "cubic"):
        command(capfd, "id", scene, "--states", table, "--differentiate", kind, "-o", tmp_path / f"{kind}.csv", *CPU)
        said[kind] = efforts(tmp_path / f"{kind}.csv")
        np.testing.assert_allclose(said[kind][:, 0], 20.0, rtol=1e-10)
    command(capfd, "export", tmp_path / "run.h5", "-c", "joint.*.effort", "-o", tmp_path / "played.csv")
    played = efforts(tmp_path / "played.csv")
    np.testing.assert_allclose(played[:-1, 0], 20.0, rtol=1e-9)  # the last frame is also the first of what follows the table
    if solver == "generalized":  # with accelerations of the instant of a frame
        at = np.round(times / 0.05).astype(int)
        np.testing.assert_allclose(said["cubic"][:, 1], played[at, 1], rtol=1e-9, atol=1e-9)
