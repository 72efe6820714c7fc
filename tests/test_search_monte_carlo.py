"""Standard errors of fits by Monte Carlo: 200 noisy logs of one motion, whose fits share their batches."""

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from simcli.pipeline import build_model
from simcli.search.batches import Batches
from simcli.search.fits.data import Log
from simcli.search.fits.fitting import fit_log
from simcli.search.fits.free_numbers import free_numbers
from simcli.search.fits.residuals import runner
from simcli.search.fits.series import output_sets, rhythm_of
from simcli.search.intervals import read_single

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
N_LOGS, N_TIMES, NOISE, SEED = 200, 51, 3e-3, 11  # noise [m]
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
    noise = NOISE * np.random.default_rng(SEED).standard_normal((N_LOGS, N_TIMES, 1))
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
