"""`simcli solve`, `fit` and `optimize` on scenes: closed forms, known numbers, faults, and the page of the manual."""

import json
import math
import re
import tempfile

import numpy as np
import pytest
from support.pages import blocks, page, run_block
from support.process import run_here, told_here
from support.search_scenes import BLOCK, PENDULUM

from simcli.errors import Exit

pytest.importorskip("scipy")

WANTED = 2.0 * (10.0 * math.pi) ** 2  # [N/m], for 5 Hz
KNOWN = {"params.m1": 1.2, "params.c": 0.05, "params.l": 1.0, "joints.elbow.q": 0.3}


@pytest.fixture
def command(capfd):
    def run(*words):
        return told_here(capfd, *words)

    return run


@pytest.fixture
def block(tmp_path):
    path = tmp_path / "block.yaml"
    path.write_text(BLOCK)
    return path


@pytest.fixture(scope="module")
def pendulum(tmp_path_factory):
    """A double pendulum and what its run came to."""
    folder = tmp_path_factory.mktemp("pendulum")
    (folder / "pendulum.yaml").write_text(PENDULUM)
    for words in (
        ["run", folder / "pendulum.yaml", "-o", folder / "run.h5", "-q"],
        ["export", folder / "run.h5", "-c", "joint.*.q", "-o", folder / "log.csv"],
    ):
        assert run_here(*words) == Exit.OK
    return folder


def test_stiffness_for_five_hertz(command, block):
    spring = ["--vary", "forces.spring.stiffness=1 N/mm..10000", "--points", 5, "--target", "modes.1.frequency=5 Hz"]
    code, out, err = command("solve", block, *spring, "-o", block.with_name("solved.yaml"))
    assert code == Exit.OK, err
    assert "1973.92088" in out
    assert "1 root" in err
    code, out, _ = command("modes", block.with_name("solved.yaml"), "--json")
    assert json.loads(out)["modes"][0]["frequency"] == pytest.approx(5.0, rel=1e-9)
    option = out_of_set(command("solve", block, *spring)[1])
    assert float(option.rpartition("=")[2]) == pytest.approx(WANTED, rel=1e-9)


def out_of_set(out):
    return out.splitlines()[1].partition("--set ")[2]


def test_roots_of_a_measure(command, block):
    """The fastest speed is |q0| sqrt(k / m) = 5 |q0|."""
    code, out, err = command(
        "solve", block, "--vary", "joints.rail.q=-0.5..0.4", "--target", "measure.peak=1.5 m/s", "--json", "--points", 8
    )
    found = json.loads(out)
    assert code == Exit.OK, err
    np.testing.assert_allclose([root["x"] for root in found["roots"]], [-0.3, 0.3], rtol=1e-5)
    assert max(abs(root["residual"]) for root in found["roots"]) < 1e-8
    assert found["target"] == {"quantity": "measure.peak", "value": 1.5, "unit": "m/s"}
    code, out, err = command(
        "solve", block, "--vary", "joints.rail.q=0.1..0.4", "--target", "measure.peak=100", "-q", "--points", 4
    )
    assert (code, out) == (Exit.NEGATIVE, "")
    assert "seen from 0.5 to 2" in err
    assert "nearest: 2 m/s at joints.rail.q = 0.4 m" in err


@pytest.mark.slow
def test_points_that_make_no_scene(command, block, tmp_path, monkeypatch):
    """The mass is negative in the middle of the interval: those points make no scene, and the others are searched."""
    text = BLOCK.replace("mass: 2.0", 'mass: "${(m - 2) * (m - 2) - 0.25}"')
    block.write_text(text.replace("simcli: 1", "simcli: 1\nparams: {m: 0.5}"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    words = ["--target", "measure.peak=1", "--points", 9, "--json", "--tolerance", "1e-6"]
    code, out, err = command("solve", block, "--vary", "params.m=linear(0.4..3.6)", *words)
    assert code == Exit.OK, err
    found = json.loads(out)
    np.testing.assert_allclose([root["x"] for root in found["roots"]], [0.5, 3.5], rtol=1e-4)
    assert found["without_value"] == {"made no valid scene": 3}
    assert not list(tmp_path.glob("simcli-search-*"))


SPRING, REST, PEAK = "forces.spring.stiffness=10..20", "joints.rail.q=0..1", "measure.peak=3"


@pytest.mark.parametrize(
    ("vary", "target", "code", "message"),
    [
        (SPRING, "measure.peek=3", Exit.USAGE, "did you mean `measure.peak`"),
        (SPRING, "measure.peak=3 N", Exit.USAGE, "a velocity [m/s] is expected"),
        (SPRING, "modes.0.frequency=3", Exit.USAGE, "counted from 1"),
        (SPRING, "modes.².frequency=3", Exit.USAGE, "counted from 1"),
        (SPRING, "modes.1.frequenzy=3", Exit.USAGE, "did you mean `frequency`"),
        (SPRING, "modes.1.frequency=3 m", Exit.USAGE, "a frequency"),
        (SPRING, "peak", Exit.USAGE, "write QUANTITY=VALUE"),
        ("forces.spring.stifness=10..20", PEAK, Exit.SCENE, "no such key"),
        ("forces.spring.stiffness=10..20 N", PEAK, Exit.SCENE, "a stiffness [N/m] is expected"),
        ("forces.spring.stiffness=20..10", PEAK, Exit.USAGE, "the first end is the lower"),
        ("forces.spring.stiffness=10", PEAK, Exit.USAGE, "write KEY=LOW..HIGH"),
        ("joints.rail.q=log(-1..1)", PEAK, Exit.USAGE, "begins above 0"),
        ("bodies.block.mass=-1..1", PEAK, Exit.SCENE, "a mass is larger than 0"),
        ("solver.dt=1e-4..1e-3", PEAK, Exit.SCENE, "cannot differ between worlds"),
    ],
)
def test_faults_of_vary_and_target(command, block, vary, target, code, message):
    found, out, err = command("solve", block, "--vary", vary, "--target", target)
    assert (found, out) == (code, ""), err
    assert message in err


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--vary", "bodies.block.mass=1..2"], Exit.USAGE, "one number"),
        (["--set", "batch.worlds=2"], Exit.USAGE, "--set batch={}"),
        (["--stable"], Exit.USAGE, "--at and --stable"),
        (["-o", "out.h5"], Exit.USAGE, "ends in .yaml"),
        (["-o", "SCENE"], Exit.USAGE, "is a file that is read"),
        (["-o", "INCLUDED", "--force"], Exit.USAGE, "is a file that is read"),
    ],
)
def test_faults_of_solve(command, block, words, code, message):
    included = block.with_name("part.yaml")
    included.write_text("simcli: 1\nparams: {unused: 1}\n")
    block.write_text(block.read_text() + "include: [part.yaml]\n")
    words = [{"SCENE": block, "INCLUDED": included}.get(word, word) for word in words]
    found, out, err = command("solve", block, "--vary", REST, "--target", PEAK, *words)
    assert (found, out) == (code, ""), err
    assert message in err


def test_known_numbers_of_a_double_pendulum(command, pendulum):
    """From exact data to 1e-6; a tenth of a per cent beside the truth is 1e3 times that."""
    pytest.importorskip("matplotlib")
    start = {"params.m1": 1.0, "params.c": 0.0, "params.l": 0.95, "joints.elbow.q": 0.25}
    sets = [word for path, value in start.items() for word in ("--set", f"{path}={value}")]
    fitted, picture = pendulum / "fitted.yaml", pendulum / "fit.png"
    code, out, err = command(
        "fit",
        pendulum / "pendulum.yaml",
        "--data",
        pendulum / "log.csv",
        "--free",
        ",".join(KNOWN),
        *sets,
        "-o",
        fitted,
        "--plot",
        picture,
        "--json",
    )
    assert code == Exit.OK, err
    document = json.loads(out)
    for number in document["numbers"]:
        assert number["value"] == pytest.approx(KNOWN[number["path"]], rel=1e-6)
        assert number["start"] == start[number["path"]]
    assert document["undetermined"] == []
    assert document["interpolation_error"] == 0.0
    assert picture.read_bytes().startswith(b"\x89PNG")
    code, out, _ = command("show", fitted, "--resolved")
    assert code == Exit.OK
    assert "1.2" in out


def test_times_between_steps_in_other_units_and_gaps(command, pendulum):
    """The log is a fine run, looked at between the steps of the scene by a spline of its own."""
    from scipy.interpolate import make_interp_spline

    rows = np.genfromtxt(pendulum / "log.csv", delimiter=",", skip_header=1)
    at = np.linspace(0.0137, 0.5871, 23)
    angles = np.degrees(make_interp_spline(rows[:, 0], rows[:, 1:], k=9)(at))
    lines = [
        f"{1e3 * t!r},{'' if k % 5 == 0 else repr(float(a))},{float(b)!r}"
        for k, (t, (a, b)) in enumerate(zip(at.tolist(), angles, strict=True))
    ]
    header = "time [ms],joint.shoulder.q [deg],joints.elbow.q [deg]"
    (pendulum / "odd.csv").write_text("\n".join([header, *lines]) + "\n")
    sigmas = ["--sigma", "joint.shoulder.q=1 deg", "--sigma", "joint.elbow.q=0.02"]
    code, out, err = command(
        "fit",
        pendulum / "pendulum.yaml",
        "--data",
        pendulum / "odd.csv",
        "--free",
        "params.m1",
        "--set",
        "params.m1=1.1",
        *sigmas,
    )
    assert code == Exit.OK, err
    assert "5 gaps of 46 cells" in err
    value, error = map(float, out.splitlines()[1].split()[1:3])
    assert value == pytest.approx(1.2, abs=1e-6)
    assert 1e-3 < error < 1.0


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--free", "params.m3"], Exit.SCENE, "there: `m1`, `m2`"),
        (["--free", "params.m1,params.m1"], Exit.USAGE, "stands there twice"),
        (["--free", "params.m1,params.nope"], Exit.SCENE, "--free:2:1"),
        (["--free", "params.m1", "--bounds", "params.m1=0..1", "--bounds", "params.m1=0..3 m"], Exit.SCENE, "--bounds:2:"),
        (["--free", "bodies.upper.com"], Exit.USAGE, "name one of its numbers, as `bodies.upper.com[0]`"),
        (["--free", "params.m1", "--bounds", "params.m2=1..2"], Exit.USAGE, "is not among the free numbers"),
        (["--free", "params.m1", "--bounds", "params.m1=2..3"], Exit.USAGE, "the scene has 1.2, outside of them"),
        (
            ["--free", "params.m1", "--set", "run.duration=0.3"],
            Exit.FILE,
            "log.csv:18: the time 0.32 s is outside of the run",
        ),
        (["--free", "params.m1", "-c", "joint.elbo.q"], Exit.USAGE, "did you mean `joint.elbow.q`"),
        (["--free", "params.m1", "--sigma", "joint.elbow.q=1 mm"], Exit.USAGE, "an angle"),
        (
            ["--free", "params.m1", "--sigma", "joint.elbow.q=0.1"],
            Exit.USAGE,
            "`joint.shoulder.q` has no standard deviation",
        ),
        (["--free", "params.m1", "--set", "batch.worlds=3"], Exit.USAGE, "makes the batches itself"),
        (["--free", "bodies.upper.inertia.diag[0]"], Exit.USAGE, "changes none of the columns"),
    ],
)
def test_faults_of_fit(command, pendulum, words, code, message):
    found, out, err = command("fit", pendulum / "pendulum.yaml", "--data", pendulum / "log.csv", *words)
    assert (found, out) == (code, ""), err
    assert message in err


FALL = """\
simcli: 1
bodies: {a: {mass: 1, inertia: {diag: [1, 1, 1]}}}
joints:
  slide: {type: prismatic, parent: world, child: a, axis: [0, 0, 1], q: 0.5, limit: [-10, 0.55]}
solver: {integrator: rk4, dt: 0.01}
run: {duration: 1}
"""
AT, LATE, DEVIATION = np.linspace(0.02, 0.83, 37), 0.0371, 1e-3


@pytest.fixture
def fall(tmp_path):
    """A body that falls from 0.5 m, and its height by a clock that is late, with noise."""
    noise = DEVIATION * np.random.default_rng(4).standard_normal(len(AT))
    height = 0.5 - 0.5 * 9.81 * (AT + LATE) ** 2 + noise
    (tmp_path / "fall.yaml").write_text(FALL)
    rows = [f"{t!r},{z!r}" for t, z in zip(AT.tolist(), height.tolist(), strict=True)]
    (tmp_path / "log.csv").write_text("\n".join(["time,joint.slide.q", *rows]) + "\n")
    return tmp_path / "fall.yaml", tmp_path / "log.csv", height


def test_an_offset_of_time_is_fitted_with_its_standard_error(command, fall):
    """Against curve_fit on the closed form z0 - g (t + offset)^2 / 2."""
    from scipy.optimize import curve_fit

    scene, log, height = fall
    words = ["fit", scene, "--data", log, "--free", "joints.slide.q", "--sigma", f"joint.slide.q={DEVIATION}"]
    code, out, err = command(*words, "--time-offset", "-20 ms..0.05", "-o", scene.with_name("out.yaml"), "--json")
    assert code == Exit.OK, err
    found = json.loads(out)
    (x, covariance) = curve_fit(
        lambda t, z, o: z - 0.5 * 9.81 * (t + o) ** 2,
        AT,
        height,
        p0=(0.4, 0.0),
        sigma=np.full(len(AT), DEVIATION),
        absolute_sigma=True,
        ftol=1e-14,
        xtol=1e-14,
    )
    assert [one["path"] for one in found["numbers"]] == ["joints.slide.q", "time_offset"]
    np.testing.assert_allclose([one["value"] for one in found["numbers"]], x, rtol=1e-7)
    np.testing.assert_allclose([one["standard_error"] for one in found["numbers"]], np.sqrt(np.diag(covariance)), rtol=1e-6)
    assert (found["numbers"][1]["unit"], found["numbers"][1]["bounds"]) == ("s", [-0.02, 0.05])
    assert found["sets"] == [f"joints.slide.q={found['numbers'][0]['value']!r}"]
    code, out, err = command(*words, "--time-offset", "-0.1..0.2")
    assert code == Exit.OK, err
    assert "time_offset [s]" in out
    assert "left out, which some offset of the interval puts outside of the run" in err


def test_a_coordinate_without_bounds_has_the_limits_of_its_joint(command, fall):
    scene, log, height = fall
    rows = [f"{t!r},{z + 0.2!r}" for t, z in zip((AT + LATE).tolist(), height.tolist(), strict=True)]
    log.write_text("\n".join(["time,joint.slide.q", *rows]) + "\n")
    for path, sets in (("joints.slide.q", []), ("initial.joint_q.slide", ["--set", "initial.joint_q.slide=0.5"])):
        words = ["fit", scene, "--data", log, "--free", path, *sets, "--json"]
        code, out, err = command(*words)
        assert code == Exit.OK, err
        (number,) = json.loads(out)["numbers"]
        assert (number["bounds"], number["value"], number["at_bound"]) == ([-10.0, 0.55], 0.55, True)
        (number,) = json.loads(command(*words, "--bounds", f"{path}=0.4..0.52")[1])["numbers"]
        assert (number["bounds"], number["value"]) == ([0.4, 0.52], 0.52)


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("0.1", Exit.USAGE, "write LOW..HIGH, as '-50 ms..50 ms'"),
        ("0.2..0.1", Exit.USAGE, "the first end is the lower one"),
        ("0..1 mm", Exit.USAGE, "a length"),
        ("0..nan", Exit.USAGE, "is not a number"),
        ("5..6", Exit.FILE, "lies in the run of 0 to 1 s at every offset from 5 to 6 s"),
    ],
)
def test_faults_of_an_offset_of_time(command, fall, text, code, message):
    found, out, err = command("fit", *fall[:1], "--data", fall[1], "--free", "joints.slide.q", "--time-offset", text)
    assert (found, out) == (code, ""), err
    assert message in err


def test_an_optimization_that_goes_on_tells_which_failures_have_no_reason(command, block, tmp_path):
    """The ledger has that points had no value, and not why."""
    pytest.importorskip("cma")
    words = [
        "optimize",
        block,
        "--vary",
        "forces.spring.stiffness=10..1e9",
        "--minimize",
        "measure.peak",
        "--population",
        4,
        "--set",
        "run.duration=0.1",
        "--set",
        "solver.integrator=semi_implicit",
        "-o",
        tmp_path / "kept",
    ]
    code, _, err = command(*words, "--generations", 1, "--set", "expect=[]")
    assert code == Exit.NEGATIVE, err
    failed = re.search(r"(\d+) points? failed \(too fast\)", err)[1]
    assert f"{failed} of 4 worlds had no value" in err
    _, _, err = command(*words, "--generations", 2, "--set", "expect=[]")
    now = sum(map(int, re.findall(r"(\d+) points? failed \(too fast\)", err)))
    before = re.search(r"(\d+) points? had none in generations of the ledger", err)[1]
    assert before == failed
    assert f"{int(before) + now} of 8 worlds had no value" in err


@pytest.mark.slow
def test_an_optimization_goes_on_to_the_bit(command, block, tmp_path):
    """The mean of q^2 over long times is x0^2/2 whatever k; over 0.5 s it is least for some stiffness within."""
    pytest.importorskip("cma")
    words = [
        "optimize",
        block,
        "--vary",
        "forces.spring.stiffness=10..200",
        "--measure",
        "size=rms:joint.rail.q",
        "--minimize",
        "{measure.size} + 0 * {measure.peak}",
        "--population",
        4,
        "--json",
        "--set",
        "run.duration=0.1",
        "--set",
        "expect=[]",
    ]
    code, whole, err = command(*words, "--generations", 4)
    assert code == Exit.NEGATIVE, err
    assert command(*words, "--generations", 2, "-o", tmp_path / "kept")[0] == Exit.NEGATIVE
    code, out, err = command(*words, "--generations", 4, "-o", tmp_path / "kept")
    first, second = json.loads(whole), json.loads(out)
    assert second.pop("from_ledger") == 2
    assert (first.pop("folder"), first.pop("from_ledger")) == (None, 0)
    second.pop("folder")
    assert second == first
    assert first["worlds"] == 16
    assert "10 to 200" not in whole
    best = (tmp_path / "kept" / "best.yaml").read_text()
    assert f"{first['numbers'][0]['value']!r}" in best
    code, out, err = command(*words[:4], "--minimize", "measure.peak", "-o", tmp_path / "kept")
    assert (code, out) == (Exit.USAGE, "")
    assert "holds another optimization" in err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "give one of --minimize"),
        (["--minimize", "measure.peak", "--maximize", "measure.peak"], "give one of --minimize"),
        (["--minimize", "measure.peek"], "did you mean `measure.peak`"),
        (["--minimize", "{joints.rail.q} * 2"], "has no measure in it"),
        (["--minimize", "{measure.peak} >"], "cannot be read as arithmetic"),
        (["--minimize", "modes.1.frequency"], "`simcli solve` takes modes"),
    ],
)
def test_faults_of_optimize(command, block, words, message):
    pytest.importorskip("cma")
    found, out, err = command("optimize", block, "--vary", "joints.rail.q=0.1..0.4", *words)
    assert (found, out) == (Exit.USAGE, ""), err
    assert message in err


@pytest.mark.slow
def test_every_line_of_the_page(tmp_path, monkeypatch, capfd):
    pytest.importorskip("cma")
    monkeypatch.chdir(tmp_path)
    n = sum(run_block(block, capfd) for kind, block in blocks(page("search")) if kind == "console")
    assert n == 7
