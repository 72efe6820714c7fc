"""Least squares without scenes: against closed forms, scipy's curve_fit and numpy's covariance; logs with faults.

Brackets and roots of functions that are known in closed form, jumps and poles among them.
"""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from support.tiny_model import tiny_model

from simcli.errors import FileError, SceneError, SimulationError, UsageError
from simcli.search.fit_data import Log, read_log
from simcli.search.fit_statistics import statistics_of
from simcli.search.fitting import fit_log
from simcli.search.free_numbers import FreeNumber
from simcli.search.intervals import Interval
from simcli.search.residuals import stencil_at
from simcli.search.solving import find_crossings

optimize = pytest.importorskip("scipy.optimize")
TIME = np.linspace(0.0, 2.0, 41)
TRUE = np.array([1.7, -0.8, 0.4])
NOISE = 0.02


def decay(x, time=TIME):
    """a exp(b t) + c t, of points (N, 3): (N, T)."""
    a, b, c = np.asarray(x, float).T[..., None]
    return a * np.exp(b * time) + c * time


def run(points):
    return decay(points)[:, :, None], 0.0


def log_of(values, sigma=np.nan):
    values = np.asarray(values, float)[:, None]
    return Log(
        Path("log.csv"),
        TIME,
        np.arange(2, len(TIME) + 2),
        ("joint.pin.q",),
        ("rad",),
        values,
        np.broadcast_to(sigma, values.shape),
    )


def numbers(start=(1.0, -0.5, 0.1), low=-np.inf, high=np.inf):
    low, high = np.broadcast_to(low, 3), np.broadcast_to(high, 3)
    return [FreeNumber(name, s, a, b, "") for name, s, a, b in zip("abc", start, low.tolist(), high.tolist(), strict=True)]


def fitted(log, free=None, run=run, iterations=50):
    return fit_log(run, free or numbers(), log, iterations, 1e-10)


def test_exact_data_give_exact_numbers():
    found = fitted(log_of(decay(TRUE)))
    np.testing.assert_allclose(found.x, TRUE, rtol=1e-12)
    assert found.converged
    assert found.n_beyond == len(TIME) - 3


@pytest.mark.parametrize("absolute", [False, True])
def test_standard_errors_and_correlation_are_those_of_curve_fit(absolute):
    rng = np.random.default_rng(5)
    values = decay(TRUE) + NOISE * rng.standard_normal(len(TIME))
    sigma = NOISE * rng.uniform(0.5, 2.0, len(TIME))[:, None] if absolute else np.nan
    found = fitted(log_of(values, sigma))
    x, covariance = optimize.curve_fit(
        lambda t, *p: decay(p, t),
        TIME,
        values,
        p0=(1.0, -0.5, 0.1),
        absolute_sigma=absolute,
        sigma=sigma[:, 0] if absolute else None,
        ftol=1e-12,
        xtol=1e-12,
    )
    np.testing.assert_allclose(found.x, x, rtol=1e-6)
    error = np.sqrt(np.diag(covariance))
    np.testing.assert_allclose(found.statistics.error, error, rtol=1e-5)
    np.testing.assert_allclose(found.statistics.correlation, covariance / np.outer(error, error), rtol=1e-4, atol=1e-6)
    if absolute:
        assert found.chi_square == pytest.approx((((decay(x) - values) / sigma[:, 0]) ** 2).sum(), rel=1e-9)


def test_gaps_are_left_out():
    values = decay(TRUE)
    values[::3] = np.nan
    found = fitted(log_of(values))
    np.testing.assert_allclose(found.x, TRUE, rtol=1e-11)
    assert found.n_data == np.isfinite(values).sum()


def test_a_bound_is_met_and_told():
    found = fitted(log_of(decay(TRUE)), numbers(high=(1.5, np.inf, np.inf), low=(0.5, -2.0, -1.0)))
    assert found.x[0] == 1.5
    assert found.at_bound.tolist() == [True, False, False]
    assert np.isnan(found.statistics.error[0])
    assert np.isfinite(found.statistics.error[1:]).all()
    (b, c), _ = optimize.curve_fit(lambda t, b, c: decay((1.5, b, c), t), TIME, decay(TRUE), p0=(-0.5, 0.1))
    np.testing.assert_allclose(found.x[1:], [b, c], rtol=1e-5)


def test_directions_that_data_do_not_determine_are_named():
    def twice(points):  # only a b and c count
        a, b, c = points.T
        return decay(np.stack((a * b, np.full(len(a), -1.0), c), 1))[:, :, None], 0.0

    data = decay((2.0, -1.0, 0.4))
    found = fitted(log_of(data), numbers((1.0, 1.5, 0.1)), run=twice)
    np.testing.assert_allclose(found.x[0] * found.x[1], 2.0, rtol=1e-9)
    (direction,) = found.statistics.undetermined
    np.testing.assert_allclose(np.abs(direction.part), [1.0, 1.0, 0.0], atol=1e-4)
    assert direction.part[0] * direction.part[1] < 0.0
    assert np.isnan(found.statistics.error).tolist() == [True, True, False]
    assert "a" in direction.words("abc")
    assert "c" not in direction.words("abc")


def test_a_number_without_effect_is_refused():
    with pytest.raises(UsageError, match=r"--free b: changes none of the columns of log\.csv"):
        fitted(log_of(decay(TRUE)), run=lambda points: run(points * [1.0, 0.0, 1.0]))


def test_failing_trials_are_gone_around():
    def frail(points):
        values = decay(points)[:, :, None]
        values[points[:, 1] > 5.0] = np.nan  # where the undisturbed fit tries 18
        return values, 0.0

    found = fitted(log_of(decay(TRUE)), numbers((0.3, -3.0, 3.0)), run=frail)
    np.testing.assert_allclose(found.x, TRUE, rtol=1e-9)
    assert found.without.total() > 0
    assert found.converged


def test_an_end_at_the_edge_of_what_runs_is_none():
    def frail(points):
        values = decay(points)[:, :, None]
        values[points[:, 0] > 1.5] = np.nan
        return values, 0.0

    found = fitted(log_of(decay(TRUE)), run=frail)
    assert found.x[0] < 1.5
    assert not found.converged
    assert "--bounds" in found.reason


def test_a_start_that_fails_and_a_scene_that_is_none_are_told():
    with pytest.raises(SimulationError, match=r"log\.csv:2"):
        fitted(log_of(decay(TRUE)), run=lambda points: (np.full((len(points), len(TIME), 1), np.nan), 0.0))

    def broken(points):
        raise SceneError([])

    with pytest.raises(SceneError):
        fitted(log_of(decay(TRUE)), run=broken)


def test_too_few_data_and_a_limit_of_iterations():
    values = np.full(len(TIME), np.nan)
    values[:2] = 1.0
    with pytest.raises(UsageError, match="2 numbers, too few for 3"):
        fitted(log_of(values))
    found = fitted(log_of(decay(TRUE)), iterations=2)
    assert not found.converged
    assert "--iterations" in found.reason


def test_the_jacobian_is_that_of_the_function_also_at_bounds():
    low, high = np.array([-np.inf, -0.8, -1.0]), np.array([np.inf, 2.0, 0.4])
    stencil = stencil_at(TRUE, np.abs(TRUE), low, high)
    assert stencil.points.shape == (7, 3)
    assert (stencil.points >= low).all()
    assert (stencil.points <= high).all()
    a, b, _ = TRUE
    exact = np.stack((np.exp(b * TIME), a * TIME * np.exp(b * TIME), TIME), 1)
    values = decay(stencil.points)
    np.testing.assert_allclose(stencil.jacobian(values), exact, atol=1e-9)
    values[1] = np.nan  # the upper neighbour of the first number
    np.testing.assert_allclose(stencil.jacobian(values), exact, atol=1e-4)
    values[2] = np.nan
    assert np.isnan(stencil.jacobian(values)[:, 0]).all()


def test_statistics_are_numpys_covariance():
    rng = np.random.default_rng(2)
    J = rng.standard_normal((30, 4)) * [1e-6, 1.0, 1e4, 3.0]
    found = statistics_of(J, np.ones(4), np.ones(4, bool), 2.0)
    covariance = 2.0 * np.linalg.inv(J.T @ J)
    np.testing.assert_allclose(found.error, np.sqrt(np.diag(covariance)), rtol=1e-9)
    np.testing.assert_allclose(np.diag(found.correlation), 1.0)


# A log is of the tiny model: joints `slide` and others; see its names.
MODEL = tiny_model()
JOINT = MODEL.joints.name[0]
GOOD = f"time [ms],joint.{JOINT}.q,body.{MODEL.bodies.name[0]}.position.z [mm]\n0,1,2\n\n500,nan,\n1000,3,5e0\n"


def written(tmp_path, text):
    path = tmp_path / "log.csv"
    path.write_text(text)
    return path


def test_a_log_is_read_in_si_with_gaps(tmp_path):
    log = read_log(written(tmp_path, "\ufeff" + GOOD), MODEL)
    np.testing.assert_allclose(log.time, [0.0, 0.5, 1.0])
    np.testing.assert_allclose(log.values, [[1.0, 2e-3], [np.nan, np.nan], [3.0, 5e-3]])
    assert log.line.tolist() == [2, 4, 5]
    assert not log.has_sigma


OPENSIM = "run\nversion=1\nnRows=2\nnColumns=5\n{}\nAny words.\nendheader\n{}\n0.0\t90\t-180\t3\t2\n0.5\t45\tnan\t4\t5\n"
HINGES = ["/jointset/hinge0/turn/value", "/jointset/knee/hinge1/speed"]


@pytest.mark.parametrize(
    ("degrees", "names"),
    [
        ("inDegrees=yes", HINGES),
        ("inDegrees = no", HINGES),
        ("inDegrees=yes", ["hinge0", "joint.hinge1.qd"]),
        ("indegrees=no", ["hinge0/value", "hinge1/speed"]),
    ],
)
@pytest.mark.parametrize("suffix", ["sto", "mot"])
def test_tables_of_opensim_are_logs(tmp_path, degrees, names, suffix):
    """Angles as the header says; other quantities are in SI either way."""
    header = "\t".join(["time", *names, "body.ball.position.z", "ball_free.1"])
    (tmp_path / f"log.{suffix}").write_text(OPENSIM.format(degrees, header).replace("2\t5", "2  5"))
    log = read_log(tmp_path / f"log.{suffix}", MODEL)
    factor = np.pi / 180.0 if "yes" in degrees else 1.0
    assert log.labels == ("joint.hinge0.q", "joint.hinge1.qd", "body.ball.position.z", "joint.ball_free.q.1")
    np.testing.assert_allclose(log.values, [[90 * factor, -180 * factor, 3, 2], [45 * factor, np.nan, 4, 5]])
    assert log.line.tolist() == [9, 10]


def test_faults_of_tables_of_opensim_name_their_line(tmp_path):
    path = tmp_path / "log.sto"
    path.write_text("a\nendheader\ntime\thinge0\n0\t1\n1\tx\n")
    with pytest.raises(FileError, match=r"log\.sto:5: column `hinge0`: `x` is not a number"):
        read_log(path, MODEL)
    path.write_text("time\thinge0\n0\t1\n")
    with pytest.raises(FileError, match="has no line `endheader`"):
        read_log(path, MODEL)
    path.write_text("a\nendheader\ntime\thinge7\n0\t1\n")
    with pytest.raises(FileError, match="unknown column `hinge7`"):
        read_log(path, MODEL)


@pytest.mark.parametrize("separator", [";", "\t"])
def test_a_log_is_separated_as_tables_of_samples_are(tmp_path, separator):
    plain = read_log(written(tmp_path, "\ufeff" + GOOD), MODEL)
    other = read_log(written(tmp_path, "\ufeff" + GOOD.replace(",", separator)), MODEL)
    assert other.labels == plain.labels
    np.testing.assert_array_equal(other.values, plain.values)


def test_sigma_columns_and_options(tmp_path):
    body = MODEL.bodies.name[0]
    text = GOOD.replace("\n0,1,2\n\n500,nan,\n1000,3,5e0\n", f",sigma.body.{body}.position.z [cm]\n0,1,2,1\n1000,3,5e0,2\n")
    path = written(tmp_path, text)
    log = read_log(path, MODEL, sigmas=[f"joint.{JOINT}.q=0.25"])
    np.testing.assert_allclose(log.sigma, [[0.25, 0.01], [0.25, 0.02]])
    assert log.has_sigma
    with pytest.raises(UsageError, match="has no standard deviation, and others have"):
        read_log(path, MODEL)
    assert read_log(path, MODEL, [f"body.{body}.*"]).labels == (f"body.{body}.position.z",)


@pytest.mark.parametrize(
    ("header", "unit", "factor"),
    [
        ("contact.link0.force.z [kN]", "N", 1e3),
        ("distance.link0.ball [mm]", "m", 1e-3),
        ("energy.total [mJ]", "J", 1e-3),
        ("joint.hinge0.wrench.tx [mN m]", "N m", 1e-3),
        ("joint.hinge0.drive_effort [mN m]", "N*m", 1e-3),
        ("joint.hinge0.drive_power [kW]", "W", 1e3),
    ],
)
def test_units_of_what_only_a_run_holds(tmp_path, header, unit, factor):
    log = read_log(written(tmp_path, f"time,{header}\n0,2\n1,3\n"), MODEL)
    np.testing.assert_allclose(log.values[:, 0], [2.0 * factor, 3.0 * factor])
    assert log.units[0].replace("*", " ") == unit.replace("*", " ")
    with pytest.raises(FileError, match="is in kg"):
        read_log(written(tmp_path, f"time,{header.partition(' ')[0]} [kg]\n0,2\n"), MODEL)


def test_parquet_says_the_same(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    import pyarrow as pa

    csv = read_log(written(tmp_path, GOOD), MODEL)
    names = ["time", f"joint.{JOINT}.q", f"body.{MODEL.bodies.name[0]}.position.z"]
    columns = [[0.0, 500.0, 1000.0], [1.0, None, 3.0], [2.0, float("nan"), 5.0]]
    units = zip(names, ("ms", "", "mm"), strict=True)
    fields = [pa.field(name, pa.float64(), metadata={"unit": unit}) for name, unit in units]
    parquet.write_table(pa.table(columns, schema=pa.schema(fields)), tmp_path / "log.parquet")
    log = read_log(tmp_path / "log.parquet", MODEL)
    np.testing.assert_allclose(log.values, csv.values)
    np.testing.assert_allclose(log.time, csv.time)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("time [ms]", "tine", "log.csv:1: there is no column `time`"),
        ("time [ms]", "time [kg]", "log.csv:1: column `time` is in kg"),
        ("position.z [mm]", "position.z [deg]", "is in deg, but [m] is expected"),
        ("position.z", "position", "has 3 components: name one"),
        (".position.z", ".positon.z", "did you mean"),
        ("500,nan,", "500,nan", "log.csv:4: 2 cells, but the header names 3"),
        ("500,nan,", "500,abc,", "log.csv:4: column `joint"),
        ("500,nan,", "500,inf,", "is not finite"),
        ("500,nan,", ",1,", "log.csv:4: column `time`: the cell is empty"),
        ("0,1,2\n\n500,nan,\n1000,3,5e0\n", "", "has a header and no row"),
        (GOOD, "", "is empty"),
        ("0,1,2\n\n500,nan,\n1000,3,5e0\n", "0,,\n1,,\n", "no number below the header"),
    ],
)
def test_faults_of_a_log_have_their_place(tmp_path, old, new, message):
    assert old in GOOD
    with pytest.raises(FileError) as caught:
        read_log(written(tmp_path, GOOD.replace(old, new, 1)), MODEL)
    assert message in str(caught.value)


def test_reasons_are_counted():
    found = fitted(log_of(decay(TRUE)))
    assert found.without == Counter()


TOLERANCE = 1e-9
N_POINTS = 17


def crossings(f, low, high, target=0.0, is_log=False, n_points=N_POINTS, tolerance=TOLERANCE):
    batches = []

    def values(x):
        batches.append(len(x))
        assert (np.diff(x) > 0.0).all()
        assert low <= x[0] <= x[-1] <= high
        return f(x)

    found = find_crossings(values, Interval("x", low, high, is_log, ""), target, n_points, tolerance)
    assert found.rounds == len(batches)
    assert sum(batches) == len(found.x)
    return found


@pytest.mark.parametrize(
    ("f", "low", "high", "target", "is_log", "roots"),
    [
        (lambda k: np.sqrt(k / 2.0) / (2.0 * np.pi), 100.0, 1e4, 5.0, True, [2.0 * (10.0 * np.pi) ** 2]),
        (np.sin, 0.5, 20.0, 0.0, False, [np.pi * n for n in range(1, 7)]),
        (lambda x: x**3 - 2.0 * x, -3.0, 2.0, 0.0, False, [-np.sqrt(2.0), 0.0, np.sqrt(2.0)]),
        (np.exp, 0.0, 100.0, 1e5, False, [np.log(1e5)]),
        (lambda x: (x - 1.0) ** 3, 0.0, 2.2, 0.0, False, [1.0]),
        (lambda x: np.cbrt(x - np.pi), 0.5, 20.0, 0.0, False, [np.pi]),
        (lambda x: np.sign(x - 1.3) * np.sqrt(np.abs(x - 1.3)), 0.5, 20.0, 0.0, False, [1.3]),
        (lambda x: x, -1.0, 1.0, 0.0, False, [0.0]),
        (lambda x: x, 1.0, 2.0, 1.0, False, [1.0]),
        (lambda x: x, 1.0, 2.0, 2.0, False, [2.0]),
    ],
)
def test_all_roots_are_found(f, low, high, target, is_log, roots):
    found = crossings(f, low, high, target, is_log)
    assert not found.jumps
    np.testing.assert_allclose([one.x for one in found.roots], roots, rtol=TOLERANCE, atol=TOLERANCE * (high - low))
    for one in found.roots:
        assert one.low <= one.x <= one.high
        assert one.residual == pytest.approx(f(one.x) - target, abs=1e-12)


def test_smooth_functions_need_few_rounds():
    assert crossings(np.sin, 0.5, 20.0).rounds <= 5
    assert crossings(lambda x: np.exp(x) - 1e5, 0.0, 100.0).rounds <= 6


@pytest.mark.parametrize(
    ("f", "place"),
    [
        (lambda x: np.where(x > 3.0, 1.0, -1.0) + 0.01 * x, 3.0),
        (lambda x: 1.0 / (x - np.pi), np.pi),
        (lambda x: np.where(x > np.e, 1e-3, -1.0), np.e),
    ],
)
def test_jumps_are_no_roots(f, place):
    found = crossings(f, 0.5, 20.0)
    assert not found.roots
    (jump,) = found.jumps
    assert jump.low <= place <= jump.high
    assert jump.high - jump.low < 1e-7
    assert jump.below * jump.above < 0.0


def test_a_root_beside_a_jump():
    found = crossings(lambda x: np.where(x > 3.0, x - 10.0, x - 1.0), 0.1, 20.0, n_points=20)
    np.testing.assert_allclose([one.x for one in found.roots], [1.0, 10.0], rtol=1e-9)
    assert [round(one.x, 6) for one in found.jumps] == [3.0]


def test_nothing_is_concluded_across_points_without_values():
    found = crossings(lambda x: np.where(np.abs(x - 3.0) < 1.0, np.nan, x - 3.0), 0.0, 10.0)
    assert not found.crossings
    assert np.isnan(found.value).any()


def test_no_crossing_costs_one_batch():
    found = crossings(lambda x: x**2, -1.0, 2.0, -1.0)
    assert (found.crossings, found.rounds) == ([], 1)
    np.testing.assert_allclose([np.nanmin(found.value), np.nanmax(found.value)], [0.0, 4.0], atol=0.1)


def test_intervals_meet_their_ends_to_the_bit():
    rng = np.random.default_rng(3)
    for is_log in (False, True):
        for _ in range(200):
            low, high = np.sort(rng.uniform(0.1, 7.0, 2)).tolist()
            one = Interval("x", low, high, is_log, "")
            x = one.at(np.linspace(0.0, 1.0, 9))
            assert (x[0], x[-1]) == (low, high)
            assert (np.diff(x) > 0.0).all()
    np.testing.assert_allclose(Interval("x", 1.0, 100.0, True, "").at(0.5), 10.0)
