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
