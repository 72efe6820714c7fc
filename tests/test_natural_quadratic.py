"""Rows as polynomials: what the catalogue says; steps that need no poses: those of the general way; singular positions."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import test_natural_joints
import yaml
from support.forward import Runner
from support.many import run_many
from support.process import python
from support.process import simcli as command

import simcli
from simcli.model.constraints.build import constraints_of
from simcli.model.constraints.constraint_tables import Form
from simcli.model.forms.natural_form import natural_form
from simcli.model.forms.quadratic_rows import quadratic_of
from simcli.model.joints.elimination import unknown_of_dof
from simcli.model.joints.state import State

SCENES = Path(simcli.__file__).parents[1] / "scenes"
ROUNDING = 1e-12  # of numbers of order 1, a few terms each
DIFFERENCES = 1e-8  # central differences of a polynomial of second degree are exact but for rounding / step
PLANAR = {
    "simcli": 1,
    "world": {"plane": "xz"},
    "solver": {"type": "natural", "dt": 1e-3},
    "bodies": {
        "a": {"mass": 1.0, "inertia": {"diag": [0.1, 0.1, 0.1]}, "com": [0.1, 0, 0.2]},
        "b": {"mass": 2.0, "inertia": {"diag": [0.1, 0.2, 0.1]}, "pose": {"xyz": [1, 0, 0], "rpy": [0, 0.3, 0]}},
        "p": {"mass": 2.0, "inertia": "point", "natural": "1P", "pose": {"xyz": [1, 0, 2]}},
    },
    "joints": {
        "pin": {"type": "revolute", "parent": "world", "child": "a", "at": [0.3, 0, 0.1], "axis": [0, 1, 0]},
        "slide": {"type": "prismatic", "parent": "a", "child": "b", "at": [0.5, 0, 0.2], "axis": [1, 0, 1]},
        "rod": {
            "type": "distance",
            "parent": "b",
            "child": "p",
            "parent_frame": {"xyz": [0.2, 0, 0.1]},
            "child_frame": {},
            "length": 1.9,
        },
    },
}


def expanded(path, springs=False):
    """Natural form of a scene at its authored state, its rows, their polynomials, numbers of the unknowns."""
    model = simcli.load(path)[0]
    model = replace(natural_form(model, State.of(model)), spring_rows=springs)
    return model, constraints_of(model), quadratic_of(model), unknown_of_dof(model)


@pytest.fixture(scope="module", params=["rible", "planar"])
def case(request, tmp_path_factory):
    text = PLANAR if request.param == "planar" else test_natural_joints.scene({"type": "natural", "dt": 1e-3})
    path = tmp_path_factory.mktemp("rows") / "scene.yaml"
    path.write_text(yaml.safe_dump(text, sort_keys=False))
    return expanded(path)


def values(table, x):
    """phi of all rows of world 0 at free coordinates x."""
    terms = slice_sums(table.form_coef[0] * x[table.form_at], table.form_start) + table.form_constant[0]
    x = np.concatenate((x, terms))
    products = table.product_weight[0] * x[table.product_i] * x[table.product_j]
    linear = table.linear_coef[0] * x[table.linear_at]
    return table.constant[0] + slice_sums(linear, table.linear_start) + slice_sums(products, table.product_start)


def gradients(table, x):
    """(R, n) at free coordinates x."""
    terms = slice_sums(table.form_coef[0] * x[table.form_at], table.form_start) + table.form_constant[0]
    extended = np.concatenate((x, terms))
    entries = table.entry_coef[0].copy()
    entries[table.curved] += slice_sums(table.term_coef[0] * extended[table.term_at], table.term_start)
    out = np.zeros((len(table.entry_start) - 1, table.n))
    for r in range(len(out)):
        part = slice(table.entry_start[r], table.entry_start[r + 1])
        out[r, table.entry_at[part]] = entries[part]
    return out


def slice_sums(terms, start):
    return np.array([terms[a:b].sum() for a, b in pairwise(start)])


def residuals(model, constraints, unknown, x):
    """phi by the words of the catalogue, at numbers x that no rigid motion makes."""
    q = model.joint_q[0].copy()
    links = model.links
    for first, start, n in zip(links.qd_start, links.q_start, links.n_qd, strict=True):
        for k in range(n):
            if unknown[first + k] >= 0:
                q[start + k] = x[unknown[first + k]]
    places, axes = [], []
    for k in range(model.n_links):
        numbers = q[links.q_start[k] :][: links.n_qd[k]].reshape(-1, 3)
        A = numbers[1:].T
        if model.plane >= 0 and A.shape[1] == 1:
            normal = np.eye(3)[model.plane]
            A = np.stack((A[:, 0], np.cross(normal, A[:, 0]), normal), axis=1)
        places.append(numbers[0])
        axes.append(A if A.size else np.eye(3))
    places, axes = [*places, np.zeros(3)], [*axes, np.eye(3)]  # the world
    anchor_pairs, rows, out = constraints.anchor_pairs, constraints.rows, []
    for p, (a, b) in enumerate(zip(anchor_pairs.link_a, anchor_pairs.link_b, strict=True)):
        gap = places[b] + axes[b] @ anchor_pairs.point_b[0, p] - places[a] - axes[a] @ anchor_pairs.point_a[0, p]
        for r in range(anchor_pairs.row_start[p], anchor_pairs.row_start[p + 1]):
            c, d_a = rows.constant[0, r], axes[a] @ rows.on_a[0, r]
            out.append(
                {
                    Form.MEET: rows.on_a[0, r] @ gap - c,
                    Form.APART: (gap @ gap - c * c) / (2 * c or 1.0),
                    Form.ALONG: d_a @ gap - c,
                    Form.DOT: d_a @ (axes[b] @ rows.on_b[0, r]) - c,
                }[Form(rows.form[r])]
            )
    for r in range(len(out), rows.n):
        one, other = ([q[number(model, first + k)] for k in range(3)] for first in (rows.vector_a[r], rows.vector_b[r]))
        out.append(np.dot(one, other) - rows.constant[0, r])
    return np.array(out)


def number(model, d):
    """Index into joint_q of a velocity of natural coordinates."""
    k = np.flatnonzero(model.links.qd_start <= d)[-1]
    return model.links.q_start[k] + d - model.links.qd_start[k]


def test_polynomials_are_the_rows_of_the_catalogue(case):
    model, constraints, table, unknown = case
    for seed in range(3):
        x = np.random.default_rng(seed).normal(size=table.n)
        wanted = residuals(model, constraints, unknown, x)
        assert np.abs(values(table, x) - wanted).max() < ROUNDING * (1 + np.abs(wanted).max())


def test_gradients_and_hessians_against_finite_differences(case):
    table = case[2]
    x = np.random.default_rng(0).normal(size=table.n)
    G = gradients(table, x)
    step = 1e-3
    for i in range(table.n):
        e = step * np.eye(table.n)[i]
        assert np.abs((values(table, x + e) - values(table, x - e)) / (2 * step) - G[:, i]).max() < DIFFERENCES
    # The Hessian is constant: gradients are affine.
    y = np.random.default_rng(1).normal(size=table.n)
    middle = gradients(table, 0.5 * (x + y))
    assert np.abs(0.5 * (G + gradients(table, y)) - middle).max() < ROUNDING * 10


def test_a_bar_with_an_anchor_beside_its_axis_is_no_polynomial(tmp_path):
    text = yaml.safe_load("""
        simcli: 1
        bodies: {bar: {mass: 1, inertia: {diag: [0, 0.1, 0.1]}, natural: 1P1V}}
        joints: {pin: {type: ball, parent: world, child: bar, at: [0.3, 0.1, 0]}}
        solver: {type: natural, dt: 1.0e-3}
    """)
    path = tmp_path / "bar.yaml"
    path.write_text(yaml.safe_dump(text))
    assert expanded(path)[2] is None


DOUBLE = """
simcli: 1
bodies:
  upper: {mass: 1, inertia: {diag: [0.1, 0.1, 0.1]}}
  lower: {mass: 2, inertia: {diag: [0.1, 0.1, 0.1]}, com: [0.1, 0.05, 0], pose: {xyz: [1, 0, 0]}}
world: {plane: xy}
joints:
  a: {type: revolute, parent: world, child: upper, at: [-0.5, 0, 0], axis: [0, 0, 1]}
  b: {type: revolute, parent: upper, child: lower, at: [0.5, 0, 0], axis: [0, 0, 1], qd: 2}
run: {duration: 0.4}
output: {every: 0.4, channels: [bodies]}
"""


GENERAL = """
import sys
from simcli.solvers.run import core
core.Core.polynomials = lambda self, *others: None
from simcli.cli import main
sys.argv = ["simcli", *{words!r}]
main()
"""


@pytest.mark.parametrize(
    ("which", "integrator"),
    [
        ("double", "zhong06"),
        pytest.param("rible", "zhong06", marks=pytest.mark.slow),
        pytest.param("rible", "moreau", marks=pytest.mark.slow),
    ],
)
def test_steps_without_poses_are_those_of_the_general_way(tmp_path, which, integrator):
    path = tmp_path / "scene.yaml"
    solver = {"type": "natural", "dt": 1e-3, "integrator": integrator}
    text = test_natural_joints.scene(solver) if which == "rible" else yaml.safe_load(DOUBLE) | {"solver": solver}
    path.write_text(yaml.safe_dump(text, sort_keys=False))
    ended = command("run", path, "-o", tmp_path / "fast.h5", "-q")
    assert ended.returncode == 0, ended.stderr
    python(GENERAL.format(words=["run", str(path), "-o", str(tmp_path / "general.h5"), "-q"]))
    with simcli.open(tmp_path / "fast.h5") as one, simcli.open(tmp_path / "general.h5") as other:
        for name, bound in (("body_q", 1e-9), ("body_qd", 1e-8)):
            a, b = (run.read(f"frames/{name}")[:, 0] for run in (one, other))
            assert np.abs(a - b).max() < bound, name


@pytest.mark.slow
def test_order_two_through_ten_singular_positions(tmp_path):
    """Where the bars lie in one line two branches meet; the closed form is that of the scene's own expectations."""
    wanted, errors = np.array([0.3284581115408, 0.9445185381786]), []
    for h in ("2e-3", "1e-3", "5e-4"):
        out = tmp_path / f"{h}.h5"
        ended = command("run", "scenes/fourbar_natural.yaml", "-o", out, "-q", "--set", f"solver.dt={h}")
        assert ended.returncode in (0, 1), ended.stderr  # the scene's tolerances are those of smaller steps
        with simcli.open(out) as run:
            errors.append(np.linalg.norm(run.point("upright0/B").position[-1, 0, :2] - wanted))
            assert run.read("diag/position_violation").max() < 1e-11
    assert errors[-1] < 6e-6, errors
    assert 3.9 < errors[0] / errors[1] < 4.1, errors
    assert 3.9 < errors[1] / errors[2] < 4.1, errors


def last_poses(folder, kind, integrator, *steps):
    """Of a double pendulum, at the end of a run with each step."""
    path = folder / f"{integrator}.yaml"
    path.write_text(f"{DOUBLE}solver: {{type: {kind}, dt: 1.0e-3, integrator: {integrator}}}\n")
    commands = [["run", path, "-o", f"{h}.h5", "--dt", h, "-q"] for h in steps]
    assert {code for code, _ in run_many(commands, folder)} == {0}
    for h in steps:
        with simcli.open(folder / f"{h}.h5") as run:
            yield run.read("frames/body_q")[-1, 0]


@pytest.fixture(scope="module")
def exact(tmp_path_factory):
    """By rk4 in joint coordinates."""
    return next(last_poses(tmp_path_factory.mktemp("double"), "generalized", "rk4", 1e-3))


@pytest.mark.slow
@pytest.mark.parametrize(("integrator", "order"), [("zhong06", 2), ("generalized_alpha", 2), ("moreau", 2)])
def test_orders_of_the_integrators(exact, tmp_path, integrator, order):
    coarse, middle, fine = last_poses(tmp_path, "natural", integrator, 4e-3, 2e-3, 1e-3)
    ratio = np.linalg.norm(coarse - middle) / np.linalg.norm(middle - fine)
    assert abs(ratio - 2**order) < 0.1, ratio
    limit = fine + (fine - middle) / (2**order - 1)
    assert np.abs(limit - exact).max() < 0.02 * np.abs(fine - exact).max()


FAR = """
from pathlib import Path
from simcli import pipeline
from simcli.cli.runs.bench_scenes import four_bars
from simcli.kernels.device.runtime import start_device
from simcli.solvers import SOLVERS
from simcli.solvers.base.run_plan import RunPlan

folder = Path(".")
*_, (path, _) = four_bars(folder)
job = pipeline.prepare(pipeline.Request(path, folder / "x.h5", ("batch.worlds=3", "solver.precision=float32"), "cpu", 1))
plan = RunPlan(job.schedule.dt, 10, 2, frozenset(("joints",)))
solver = SOLVERS["natural"](job.model, job.spec.solver, plan, start_device("cpu", "float32", 1))
solver.initial()
solver.advance(2)
steps = solver.core.steps
print(steps.worst.read().max() / steps.tight)
"""


def test_rows_far_from_the_origin_are_met_in_float32(tmp_path):
    """Forty windows reach 40 m, where a coordinate rounds to more than the tolerance: corrections went to their limit."""
    assert float(python(FAR, cwd=tmp_path).split()[-1]) <= 1.0


def test_forces_of_redundant_rows_do_not_add_up(tmp_path):
    """A step begins from the forces of the last ones: what nothing corrects grew to 2e9 N in forty thousand steps."""
    text = yaml.safe_load((SCENES / "bricard.yaml").read_text())
    text |= {
        "solver": {"type": "natural", "integrator": "zhong06", "dt": 1e-3},
        "run": {"duration": 60},
        "output": {"every": 0.1, "channels": ["energy"]},
        "expect": [{"max": "energy.drift", "below": 1e-4}],
    }
    text["params"]["s"], text["batch"] = 0.9, {"worlds": 1}
    path = tmp_path / "scene.yaml"
    path.write_text(yaml.safe_dump(text, sort_keys=False))
    done = command("run", path, "-o", tmp_path / "run.h5", "--json")
    assert done.returncode == 0, done.stderr + done.stdout


def test_two_four_bars_pass_their_singular_positions_in_float32(tmp_path):
    """The first two of them. Energy that moves is 1 J."""
    words = ("--precision", "float32", "--duration", 2, "--set", "expect=[{max: energy.drift, below: 2e-3}]")
    done = command("run", SCENES / "fourbar_natural.yaml", "-o", tmp_path / "run.h5", "-q", *words)
    assert done.returncode == 0, done.stderr


def test_what_generalized_alpha_does_not_take_is_refused_by_name(tmp_path):
    path = tmp_path / "scene.yaml"
    solver = "solver: {type: natural, dt: 1.0e-3, integrator: generalized_alpha}\n"
    path.write_text(DOUBLE.replace("qd: 2}", "qd: 2, friction: 0.1}") + solver)
    ended = command("check", path)
    assert ended.returncode == 1
    assert "dry friction with generalized_alpha" in ended.stderr


def test_a_step_that_turns_too_far_ends_its_world_by_name(tmp_path):
    path = tmp_path / "spin.yaml"
    path.write_text("""
        simcli: 1
        world: {gravity: [0, 0, 0]}
        bodies: {top: {mass: 1, inertia: {diag: [0.1, 0.2, 0.25]}, velocity: {angular: [0, 0, 5]}}}
        solver: {type: natural, dt: 0.1}
        run: {duration: 1}
        output: {every: 0.1, channels: [state]}
        batch: {worlds: 2, vary: {"bodies.top.velocity.angular[2]": {list: [5, 12]}}}
    """)
    ended = command("run", path, "-o", tmp_path / "spin.h5")
    assert ended.returncode == 4
    assert "SC608" in ended.stderr + ended.stdout
    with simcli.open(tmp_path / "spin.h5") as run:
        assert run.read("diag/status")[-1].tolist() == [0, 6]
        angle = 2 * np.arctan2(run.read("frames/body_q")[4, 0, 0, 5], run.read("frames/body_q")[4, 0, 0, 6])
    assert abs(angle - 4 * np.arcsin(0.5)) < 1e-9


@pytest.mark.slow  # test_natural_forces and test_joint_cells tell compliance
def test_a_body_that_yields_vibrates_as_its_compliance_says(tmp_path):
    """A vector that turns is stretched by e J w^2 / 2 at rest, from rest by up to twice that: (2 Phi)^2 / 2 e."""
    J, spin, e = 0.2, 3.0, 1e-4
    path = tmp_path / "soft.yaml"
    path.write_text(f"""
        simcli: 1
        world: {{plane: xy, gravity: [0, 0, 0]}}
        bodies:
          disc: {{mass: 1, inertia: {{diag: [{J}, {J}, {J}]}}, natural: {{kind: 1P2V, compliance: {e}}},
                  velocity: {{angular: [0, 0, {spin}]}}}}
        solver: {{type: natural, dt: 1.0e-4}}
        run: {{duration: 0.05}}
        output: {{every: 1.0e-4, channels: [energy]}}
    """)
    steps, drifts = (1e-4, 5e-5), []
    results = run_many([["run", path, "-o", f"{h}.h5", "--dt", h, "-q"] for h in steps], tmp_path)
    assert [code for code, _ in results] == [0, 0], results
    for h in steps:
        with simcli.open(tmp_path / f"{h}.h5") as run:
            stored = run.energy.elastic[:, 0].max()
            drifts.append(np.abs(run.energy.drift[:, 0]).max())
    assert abs(stored - e * J**2 * spin**4 / 2) < 2e-3 * stored
    assert 3.9 < drifts[0] / drifts[1] < 4.1


@pytest.mark.parametrize(
    ("words", "command_name", "said"),
    [
        (("integrator: zhong06", "integrator: zhong06, spectral_radius: 0.5"), "check", "a spectral radius with zhong06"),
        (("mass: 2,", "mass: 2, natural: {kind: 1P, compliance: 0.1},"), "check", "a point has no rigidity"),
        (("mass: 2,", "mass: 2, natural: {kind: 1P2V, compliance: 0.1},"), "modes", "body `lower` has compliance"),
    ],
)
def test_numbers_that_nobody_would_read_are_refused_with_their_line(tmp_path, words, command_name, said):
    path = tmp_path / "scene.yaml"
    text = f"{DOUBLE}solver: {{type: natural, dt: 1.0e-3, integrator: zhong06}}\n"
    path.write_text(text.replace(*words))
    pairs = zip(text.splitlines(), path.read_text().splitlines(), strict=True)
    line = next(k for k, (before, after) in enumerate(pairs, 1) if before != after)
    ended = command(command_name, path)
    assert ended.returncode == (1 if command_name == "check" else 3)
    assert said in ended.stderr
    assert f"scene.yaml:{line}:" in ended.stderr


ARMS = """
bodies:
  upper: {mass: 1, com: [0.5, 0, 0], inertia: {diag: [0.05, 0.05, 0.05]}}
  lower: {mass: 1, com: [0.5, 0, 0], inertia: {diag: [0.05, 0.05, 0.05]}, pose: {xyz: [1, 0, 0]}}
joints:
  shoulder: {type: revolute, parent: world, child: upper, axis: [0, 1, 0]}
  elbow: {type: revolute, parent: upper, child: lower, at: [1, 0, 0], axis: [0, 1, 0]}
solver: {type: natural, dt: 1 ms, integrator: generalized_alpha}
"""
BALANCED = 1e-3  # [J] of 15 J, twice what steps of this length leave in double precision


def test_short_steps_of_generalized_alpha_are_of_order_two(device):
    """Accelerations are found as finely as the step is short: errors that one step leaves stand in the next one, too."""
    run = Runner(ARMS, "generalized_alpha", device)
    wide, narrow = (run(h, round(0.4 / h), 1)["energy/drift"][-1, 0] for h in (8e-5, 2e-5))
    assert wide / narrow == pytest.approx(16.0, rel=0.05)


def test_generalized_alpha_balances_forces_in_float32(tmp_path):
    """A way that rounds is 2 m/s^2 in steps of 1 ms: accelerations were that far behind forces, and energy by 0.04 J."""
    path = tmp_path / "arms.yaml"
    path.write_text(f"simcli: 1{ARMS}run: {{duration: 1}}\nexpect: [{{max: energy.drift, below: {BALANCED}}}]\n")
    done = command("run", path, "-o", tmp_path / "run.h5", "-q", "--precision", "float32")
    assert done.returncode == 0, done.stderr
