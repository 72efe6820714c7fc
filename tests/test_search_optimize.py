"""CMA-ES without scenes: known minima, worlds that fail, and ledgers that go on to the bit.

An optimization that is killed (-9) again and again ends as one that nobody killed.

Standard errors of fits by Monte Carlo: 200 noisy logs of one motion, whose fits share their batches.
"""

import json
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.process import TIMEOUT, simcli_apart, start
from support.search_scenes import BLOCK

from simcli.errors import Exit, FileError, SimulationError, UsageError
from simcli.pipeline import build_model
from simcli.search.batches import Batches
from simcli.search.fit_data import Log
from simcli.search.fitting import fit_log
from simcli.search.free_numbers import free_numbers
from simcli.search.generations import Generations
from simcli.search.intervals import Interval, read_single
from simcli.search.optimizing import Limits, find_optimum
from simcli.search.residuals import output_sets, rhythm_of, runner

pytest.importorskip("cma")

INTERVALS = [Interval("a", -2.0, 2.0, False, "m"), Interval("b", 0.01, 100.0, True, "")]
LIMITS = Limits(200, 10**6, 1e-5)
POPULATION, SEED = 12, 4
MINIMUM = np.array([0.7, 3.0])


class Bowl:
    """A banana-shaped valley over a and log b."""

    text, unit = "bowl", ""

    def __init__(self, fails=lambda points: np.zeros(len(points), bool)):
        self.without, self.fails, self.n_calls = Counter(), fails, 0

    def __call__(self, points):
        self.n_calls += 1
        a, b = points[:, 0] - MINIMUM[0], np.log(points[:, -1] / MINIMUM[1])
        values = a**2 + 10.0 * (b - a**2) ** 2
        values[self.fails(points)] = np.nan
        return values


def search(bowl, ledger=None, limits=LIMITS, maximizes=False, intervals=INTERVALS, seed=SEED):
    return find_optimum(bowl, intervals, maximizes, seed, POPULATION, limits, ledger)


def ledger_in(folder, **facts):
    return Generations(folder, {"seed": SEED, **facts})


def bits(found):
    return [(one.points.tobytes(), one.values.tobytes()) for one in found.generations], found.x.tobytes(), found.value


def test_a_known_minimum():
    found = search(Bowl())
    np.testing.assert_allclose(found.x, MINIMUM, rtol=1e-3)
    assert found.converged
    assert found.value == min(value for one in found.generations for value in one.values)
    assert found.n_worlds == POPULATION * len(found.generations)
    assert not found.ends(INTERVALS)


def test_the_largest_is_the_least_of_the_negative():
    class Hill(Bowl):
        def __call__(self, points):
            return -super().__call__(points)

    assert search(Hill(), maximizes=True).value == -search(Bowl()).value


def test_one_number():
    found = search(lambda points: (points[:, 0] - 0.7) ** 2, intervals=INTERVALS[:1])
    np.testing.assert_allclose(found.x, [0.7], atol=1e-3)
    assert found.converged
    assert len(found.generations) < 60


def test_a_minimum_at_an_end_is_told():
    found = search(lambda points: points[:, 0] + np.log(points[:, 1]) ** 2)
    assert found.ends(INTERVALS) == ["a"]
    assert (found.x >= [-2.0, 0.01]).all()


def test_worlds_that_fail_count_as_worst():
    found = search(Bowl(lambda points: points[:, 0] > 0.5))
    assert found.n_failed > 0
    assert 0.45 < found.x[0] <= 0.5
    with pytest.raises(SimulationError, match=r"generation has a value; (\d+ |other intervals)"):
        search(Bowl(lambda points: np.ones(len(points), bool)))


def test_limits():
    found = search(Bowl(), limits=Limits(3, 10**6, 1e-5))
    assert (len(found.generations), found.converged) == (3, False)
    found = search(Bowl(), limits=Limits(100, 4 * POPULATION + 1, 1e-5))
    assert len(found.generations) == 4
    assert "evaluations" in found.reason


def test_the_global_random_numbers_have_no_part():
    np.random.seed(1)  # noqa: NPY002
    first = search(Bowl())
    np.random.seed(2)  # noqa: NPY002
    assert bits(search(Bowl())) == bits(first)
    assert bits(search(Bowl(), seed=SEED + 1)) != bits(first)


def lose_the_end(file):
    file.write_bytes(file.read_bytes()[:-40])


def damage_the_middle(file):
    data = bytearray(file.read_bytes())
    place = data.rindex(b'"values"')
    data[place + 12] ^= 1
    file.write_bytes(data)


@pytest.mark.parametrize(("fault", "kept"), [(None, 5), (lose_the_end, 4), (damage_the_middle, 4)])
def test_a_stopped_search_goes_on_to_the_bit(tmp_path, fault, kept):
    whole = search(Bowl(lambda points: points[:, 0] > 1.5), ledger_in(tmp_path / "whole"))
    folder = tmp_path / "stopped"
    search(Bowl(lambda points: points[:, 0] > 1.5), ledger_in(folder), Limits(5, 10**6, 1e-5))
    (file,) = (folder / "ledger").iterdir()
    if fault:
        fault(file)
    bowl = Bowl(lambda points: points[:, 0] > 1.5)
    found = search(bowl, ledger_in(folder))
    assert bits(found) == bits(whole)
    assert found.n_replayed == kept
    assert bowl.n_calls == len(whole.generations) - found.n_replayed
    again = Bowl()
    assert bits(search(again, ledger_in(folder))) == bits(whole)


def test_lines_of_the_ledger_are_readable(tmp_path):
    found = search(Bowl(), ledger_in(tmp_path), Limits(2, 10**6, 1e-5))
    (file,) = (tmp_path / "ledger").iterdir()
    head, first, second = (json.loads(line) for line in file.read_text().splitlines())
    assert head["search"]["seed"] == SEED
    assert [first["number"], second["number"]] == [1, 2]
    np.testing.assert_array_equal(second["points"], found.generations[1].points)
    np.testing.assert_array_equal(second["values"], found.generations[1].values)


def test_another_search_does_not_mix_in(tmp_path):
    search(Bowl(), ledger_in(tmp_path / "a"), Limits(2, 10**6, 1e-5))
    with pytest.raises(UsageError, match="holds another optimization"):
        ledger_in(tmp_path / "a", scene="other")
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "notes.txt").write_text("mine")
    with pytest.raises(UsageError, match="is not empty"):
        ledger_in(tmp_path / "b")
    with pytest.raises(UsageError, match="is no folder"):
        ledger_in(tmp_path / "b" / "notes.txt")


def test_other_points_or_values_in_the_ledger_are_refused(tmp_path):
    search(Bowl(), ledger_in(tmp_path / "a"), Limits(2, 10**6, 1e-5))
    with pytest.raises(FileError, match="other points"):
        search(Bowl(), ledger_in(tmp_path / "a"), seed=SEED + 1)
    search(Bowl(lambda points: points[:, 0] > 0.0), ledger_in(tmp_path / "c"), Limits(2, 10**6, 1e-5))
    (file,) = (tmp_path / "c" / "ledger").iterdir()
    file.rename(tmp_path / "a" / "ledger" / "other.jsonl")
    with pytest.raises(FileError, match="stands in this folder twice"):
        ledger_in(tmp_path / "a")


pytest.importorskip("cma")

GENERATIONS = 5
KILLED_AT = (2, 4)  # lines of the ledger, the head among them


@pytest.mark.slow
def test_kills_lose_nothing(tmp_path):
    scene, kept = tmp_path / "block.yaml", tmp_path / "kept"
    scene.write_text(BLOCK)
    words = [
        "optimize",
        scene,
        "--vary",
        "forces.spring.stiffness=10..200",
        "--vary",
        "joints.rail.q=0.1..0.3",
        "--minimize",
        "measure.peak",
        "--population",
        4,
        "--generations",
        GENERATIONS,
        "--json",
    ]
    for n_lines in KILLED_AT:
        process = start(*words, "-o", kept)
        end = time.monotonic() + TIMEOUT
        while lines_in(kept) < n_lines and process.poll() is None and time.monotonic() < end:
            time.sleep(0.01)
        process.kill()
        process.communicate()
        assert lines_in(kept) >= n_lines
    gone_on, whole = simcli_apart(*words, "-o", kept), simcli_apart(*words)
    assert gone_on.returncode == whole.returncode == Exit.NEGATIVE, gone_on.stderr
    first, second = json.loads(gone_on.stdout), json.loads(whole.stdout)
    assert first.pop("from_ledger") >= KILLED_AT[-1] - 1
    assert (second.pop("from_ledger"), first.pop("folder"), second.pop("folder")) == (0, str(kept), None)
    assert first == second


def lines_in(folder):
    return sum(file.read_bytes().count(b"\n") for file in (folder / "ledger").glob("*.jsonl"))


pytest.importorskip("scipy")

SCENE = """
simcli: 1
params: {k: 55.0, c: 1.5, q: 0.19}
bodies:
  block: {pose: {xyz: [1.0, 0, 0]}, mass: 2.0, inertia: {diag: [0.01, 0.01, 0.01]}, points: {hook: [0, 0, 0]}}
joints:
  rail: {type: prismatic, parent: world, child: block, at: [1.0, 0, 0], axis: [1, 0, 0], q: "${q}"}
forces:
  spring: {type: spring, a: {world: [0, 0, 0]}, b: block/hook, stiffness: "${k}", damping: "${c}", rest_length: 1.0}
solver: {type: generalized, dt: 2.0e-3, integrator: rk4}
run: {duration: 1}
"""
TRUE = {"params.k": 60.0, "params.c": 1.2, "params.q": 0.2}
N_LOGS, N_TIMES, NOISE, NOISE_SEED = 200, 51, 3e-3, 11  # noise [m]
SIGMAS = 4.0  # a run of the test in 16 000 misses each of these


class Together:
    """Fits in threads whose points run as one batch: a batch begins when every fit that goes on has asked for one."""

    def __init__(self, run, n_fits):
        self.run, self.going, self.asked, self.given = run, n_fits, {}, {}
        self.change, self.n_batches = threading.Condition(), 0

    def __call__(self, points):
        me = threading.get_ident()
        with self.change:
            self.asked[me] = points
            self._run_if_all_have_asked()
            self.change.wait_for(lambda: me in self.given)
            return self.given.pop(me)

    def leave(self):
        with self.change:
            self.going -= 1
            self._run_if_all_have_asked()

    def _run_if_all_have_asked(self):
        if not self.asked or len(self.asked) < self.going:
            return
        names, parts = list(self.asked), list(self.asked.values())
        self.asked = {}
        values, error = self.run(np.concatenate(parts))
        self.n_batches += 1
        ends = np.cumsum([len(part) for part in parts])[:-1]
        self.given.update((name, (part, error)) for name, part in zip(names, np.split(values, ends), strict=True))
        self.change.notify_all()


@pytest.mark.slow
def test_standard_errors_are_the_scatter_of_fits(tmp_path):
    scene = tmp_path / "block.yaml"
    scene.write_text(SCENE)
    document, spec = read_single(scene, (), "fit")
    time = np.linspace(0.0, 1.0, N_TIMES)
    sigma = np.full((N_TIMES, 1), NOISE)
    log = Log(Path("log.csv"), time, np.arange(N_TIMES), ("joint.rail.q",), ("m",), np.zeros((N_TIMES, 1)), sigma)
    rhythm = rhythm_of(log, spec)
    assert rhythm.on_frames
    free = free_numbers(scene, (), document, spec, build_model(document, spec), list(TRUE), [])
    run = runner(Batches(scene, output_sets(log, rhythm), list(TRUE), "cpu"), log, rhythm)
    truth = run(np.array([list(TRUE.values())]))[0][0]
    noise = NOISE * np.random.default_rng(NOISE_SEED).standard_normal((N_LOGS, N_TIMES, 1))
    together = Together(run, N_LOGS)

    def fitted(values):
        try:
            return fit_log(together, free, replace(log, values=values), 30, 1e-8)
        finally:
            together.leave()

    with ThreadPoolExecutor(N_LOGS) as threads:
        fits = list(threads.map(fitted, truth + noise))
    assert all(fit.converged for fit in fits)
    assert together.n_batches <= 30
    x, error = np.array([fit.x for fit in fits]), np.array([fit.statistics.error for fit in fits])
    pull = (x - list(TRUE.values())) / error
    np.testing.assert_allclose(pull.mean(axis=0), 0.0, atol=SIGMAS / np.sqrt(N_LOGS))
    np.testing.assert_allclose(pull.std(axis=0, ddof=1), 1.0, atol=SIGMAS / np.sqrt(2.0 * N_LOGS))
    np.testing.assert_allclose(x.std(axis=0, ddof=1) / error.mean(axis=0), 1.0, atol=SIGMAS / np.sqrt(2.0 * N_LOGS))
    correlation = np.mean([fit.statistics.correlation for fit in fits], axis=0)
    np.testing.assert_allclose(np.corrcoef(x.T), correlation, atol=SIGMAS / np.sqrt(N_LOGS))
    chi_square = np.array([fit.chi_square for fit in fits])
    n = N_TIMES - len(TRUE)
    assert fits[0].n_beyond == n
    assert chi_square.mean() == pytest.approx(n, abs=SIGMAS * np.sqrt(2.0 * n / N_LOGS))
    # Without standard deviations they follow from the residuals, each with its own scatter of 1 / sqrt(2 n).
    unknown = fit_log(run, free, replace(log, values=truth + noise[0], sigma=sigma * np.nan), 30, 1e-8)
    scale = np.sqrt(chi_square[0] / n)
    np.testing.assert_allclose(unknown.statistics.error, error[0] * scale, rtol=1e-5)
