"""Stacks on flat faces: nothing pushes a corner along a face, what friction holds stays, and stacks lean to a balance."""

import numpy as np
import pytest
from support.barriers import Drop, box_mesh, rest_gap
from support.device import live_device
from support.stacks import balanced

SIZE, MASS, D_HAT, N = 0.2, 8.0, 1e-3, 5  # [m], [kg], [m], cubes
KAPPA = 1e3 / D_HAT**3  # [J/m^4], where nobody says
DT = 5e-3  # [s]
STILL = 1e-6  # [m], sideways, from the start on
CREEP = 5e-8  # [m/s], of the last of what the fall leaves; a law of the slip creeps by 3.8e-7 here, and does not end
SAME = 1e-2  # relative: statics of rigid cubes, whose own strain tilts the faces by half a percent as much
ASIDE = [0.01 * np.outer(k, (1.0, 1.0)) for k in (np.arange(N) % 2, np.arange(N))]  # in turn, and all in one direction


def starts():
    """Centres and slopes of the cubes in four worlds: both stacks in their balance, then both level at equal gaps."""
    worlds = [balanced(aside, SIZE, MASS, D_HAT, KAPPA) for aside in ASIDE]
    gap = rest_gap(MASS * 9.81 * N / 8, D_HAT, KAPPA)
    height = (SIZE + gap) * (np.arange(N)[:, None] + 1.0) - 0.5 * SIZE
    return worlds + [(np.column_stack((aside, height)), np.zeros((N, 2))) for aside in ASIDE]


def stack(worlds, duration):
    """Five cubes in a world each."""
    lines, vary = [], []
    for b in range(N):
        numbers = {f"{name}{b}": [float(x) for x in column] for name, column in zip(
            "xyzrp", (*np.transpose([place[b] for place, _ in worlds]), *np.transpose(
                [(slope[b, 1], -slope[b, 0]) for _, slope in worlds])), strict=True)}  # fmt: skip
        vary += [f"params.{name}: {{list: {values}}}" for name, values in numbers.items()]
        x, y, z, r, p = (f'"${{{name}}}"' for name in numbers)
        box = f"{{type: box, size: [{SIZE}, {SIZE}, {SIZE}]}}"
        lines.append(f"  c{b}: {{pose: {{xyz: [{x}, {y}, {z}], rpy: [{r}, {p}, 0]}}, shapes: {{it: {box}}}}}")
    params = ", ".join(f"{line.split(':')[0].removeprefix('params.')}: 0" for line in vary)
    head = ["world: {shapes: {ground: {type: plane}}}", "materials: {stone: {friction: 0.5}}", f"params: {{{params}}}",
            f"batch: {{worlds: {len(worlds)}, vary: {{{', '.join(vary)}}}}}",
            "defaults: {shape: {density: 1000, material: stone}}", "bodies:"]  # fmt: skip
    return "\n".join([*head, *lines, f"solver: {{type: affine, dt: {DT}, contact: {{d_hat: {D_HAT}}}}}",
                      f"run: {{duration: {duration}}}"])  # fmt: skip


def settled(run, since):
    """Places sideways at every step, after what every stack must show: no creep since then, and nothing crosses."""
    place = run.columns["frames/body_q"][..., :2]
    late = place[round(since / DT) :]
    assert np.abs(late[-1] - late[0]).max() < CREEP * DT * (len(late) - 1)
    for world in range(place.shape[1]):
        assert run.crossings([box_mesh((SIZE,) * 3)] * N, -1, world) == []
    assert (run.columns["diag/gap"] > 0).all()
    assert run.columns["diag/status"].max() == 0
    assert (np.diff(run.columns["energy/dissipated"], axis=0) >= 0).all()
    return place


@pytest.mark.parametrize(("duration", "since"), [(0.8, 0.7), pytest.param(5.0, 1.0, marks=pytest.mark.slow)])
def test_a_stack_stays_where_it_balances(tmp_path, duration, since):
    place = settled(Drop(stack(starts()[:2], duration), live_device(), tmp_path), since)
    assert np.abs(place - place[0]).max() < STILL


@pytest.mark.slow
def test_a_level_stack_leans_to_its_balance_and_no_farther(tmp_path):
    place = settled(Drop(stack(starts()[2:], 5.0), live_device(), tmp_path), 1.0)
    expected = np.array([at[:, :2] - aside for (at, _), aside in zip(starts(), ASIDE, strict=False)])
    assert place[-1] - place[0] == pytest.approx(expected, rel=SAME)
