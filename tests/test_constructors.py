"""Constructors of natural coordinates: energy, rigidity, and the constant maps between them, at random states.

Arguments of the public entry points: whatever kind of thing a program gives, it is taken, or refused by name.
"""

import contextlib
import copy
import inspect
import pickle
import re
from pathlib import Path

import numpy as np
import pytest

import simcli
from simcli import rotations as rot
from simcli.errors import DeviceMemoryError, Fault, OutputError, SceneError, SimcliError, UsageError, Where
from simcli.model.forms import natural_coordinates as con
from simcli.model.forms.natural_coordinates import Basis
from simcli.simulation.starts import fitting_numbers
from simcli.sweeps import in_python

ENERGY = 1e-12  # relative, issue 4
ROUNDING = 1e-11  # of sums over matrices whose condition is up to a thousand
KINDS = [(kind, -1) for kind in ("1P3V", "2P2V", "3P1V", "4P", *con.SLENDER)]
KINDS += [(kind, plane) for kind in (*con.PLANAR, *con.SLENDER) for plane in range(3)]
DIMS = {"1P3V": 3, "2P2V": 3, "3P1V": 3, "4P": 3, "1P2V": 2, "2P1V": 2, "3P": 2, "1P1V": 1, "2P": 1, "1P": 0}


class Placed:
    """A body with a random basis of a kind, moving; flat: its mass lies in a plane (in space) or on the bar."""

    def __init__(self, kind, plane, seed, flat=False):
        rng = np.random.default_rng(seed)
        self.mass, self.com = rng.uniform(0.5, 2.0), rng.normal(size=3)
        self.R_g = rot.quat_to_matrix(rot.unit(rng.normal(size=4)))
        second = rng.uniform(0.1, 0.5, 3) * (np.array((1.0, 1.0, 0.0)) if flat else 1.0)
        n_points, n_vectors = con.constructor_counts(kind)
        points, vectors = rng.normal(size=(n_points, 3)), rng.normal(size=(n_vectors, 3))
        self.turn = rng.normal(size=3)
        twist = rng.normal(size=6)
        pose = np.concatenate((rng.normal(size=3), rot.unit(rng.normal(size=4))))
        if DIMS[kind] == 0:
            points[:] = self.com
            second[:] = 0.0
        if DIMS[kind] == 1:
            second[:] = (0.3, 0.0, 0.0)
            along = self.R_g[:, 0] if plane < 0 else rot.unit(np.where(np.arange(3) == plane, 0.0, rng.normal(size=3)))
            points = self.com + rng.normal(size=(n_points, 1)) * along
            vectors = rng.uniform(0.5, 2.0, size=(n_vectors, 1)) * along
        self.inertia = self.R_g @ np.diag(second.sum() - second) @ self.R_g.T
        if plane >= 0:
            points[:, plane], vectors[:, plane], self.com[plane], pose[plane], twist[plane] = 0, 0, 0, 0, 0
            angle = rng.uniform(-3, 3)
            pose[3:] = rot.quat_from_axis_angle(np.eye(3)[plane], angle)
            twist[3:] = np.eye(3)[plane] * twist[3]
            about = 0.0 if DIMS[kind] == 0 else 0.37
            self.inertia = np.diag(np.where(np.arange(3) == plane, about, 0.5 * about))
        self.basis, self.pose, self.twist, self.plane = Basis(kind, points, vectors, plane), pose, twist, plane
        self.q, self.qd = con.coordinates(self.basis, pose), con.rates(self.basis, self.com, pose, twist)

    def energy(self):
        R = rot.quat_to_matrix(self.pose[3:])
        v, w = self.twist[:3], self.twist[3:]
        return 0.5 * self.mass * v @ v + 0.5 * w @ R @ self.inertia @ R.T @ w


@pytest.mark.parametrize("flat", [False, True])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("kind", "plane"), KINDS)
def test_kinetic_energy_is_that_of_the_rigid_body(kind, plane, seed, flat):
    """Flat bodies and thin rods too, whose mass matrix has no inverse."""
    body = Placed(kind, plane, seed, flat)
    M = con.mass_matrix(body.basis, body.mass, body.com, body.inertia)
    assert np.abs(M - M.T).max() < ROUNDING * np.abs(M).max()
    assert abs(0.5 * body.qd @ M @ body.qd - body.energy()) < ENERGY * np.abs(M).max() * (body.qd @ body.qd)
    assert body.energy() > 0.0
    lowest = np.linalg.eigvalsh(M)[0]
    if flat and DIMS[kind] == 3:
        assert abs(lowest) < ENERGY * np.abs(M).max()
    else:
        assert lowest > 0.0


@pytest.mark.parametrize(("kind", "plane"), KINDS)
def test_rigidity_holds_has_its_rank_and_constant_hessians(kind, plane):
    body = Placed(kind, plane, 7)
    value, A = con.rigidity(body.basis, body.q)
    n = {0: 0, 1: 1, 2: 3, 3: 6}[DIMS[kind]]
    assert len(value) == n
    assert len(body.q) == (3 if plane < 0 else 2) * (1 + DIMS[kind])
    if not n:
        return
    assert np.linalg.matrix_rank(A) == n
    size = np.abs(A).max() ** 2
    assert np.abs(value).max() < ENERGY * size
    assert np.abs(A @ body.qd).max() < ENERGY * size * np.abs(body.qd).max()
    H, rng, step = con.rigidity_hessians(body.basis), np.random.default_rng(1), 1e-4
    for _ in range(3):
        d = rng.normal(size=len(body.q))
        ahead, back = (con.rigidity(body.basis, body.q + s * step * d) for s in (1, -1))
        assert np.abs((ahead[0] - back[0]) / (2 * step) - A @ d).max() < 1e-9 * size
        assert np.abs((ahead[1] - back[1]) / (2 * step) - H @ d).max() < 1e-9 * size


@pytest.mark.parametrize(("kind", "plane"), KINDS)
def test_places_of_the_body_are_constant_combinations(kind, plane):
    body = Placed(kind, plane, 3)
    rng = np.random.default_rng(5)
    entities = np.concatenate((body.basis.points, body.basis.vectors))
    place = body.basis.points[0] + rng.normal(size=DIMS[kind]) @ (
        entities[1:] - np.where(np.arange(1, len(entities))[:, None] < len(body.basis.points), body.basis.points[0], 0.0)
    )
    w = con.weights(body.basis, place)
    seen = w @ body.q.reshape(len(w), -1)
    assert np.abs(seen - body.basis.axes @ rot.pose_apply(body.pose, place)).max() < ROUNDING


def test_vectors_may_have_any_length():
    """Each alone: places and energy are those of a body whose vectors have length one."""
    body = Placed("1P3V", -1, 2)
    short = Basis("1P3V", body.basis.points, body.basis.vectors * np.array([[1e-20], [1.0], [1e9]]))
    assert con.complain(short, body.com[None], body.inertia[None]) == ""
    q, qd = con.coordinates(short, body.pose), con.rates(short, body.com, body.pose, body.twist)
    place, R = np.array([0.3, -0.2, 0.7]), rot.quat_to_matrix(body.pose[3:])
    seen = con.weights(short, place) @ q.reshape(4, 3)
    assert np.abs(seen - body.pose[:3] - R @ place).max() < ROUNDING
    energy = 0.5 * qd @ con.mass_matrix(short, body.mass, body.com, body.inertia) @ qd
    assert abs(energy - body.energy()) < ROUNDING * body.energy()


def from_internal(basis, com, axes, n_vectors):
    """The constant matrix that makes q of the solver's own coordinates (p, a_1, ..); its pseudoinverse leads back.

    Args:
        basis: of the body.
        com: [m], (3,), body frame.
        axes: [1], (3, 3), of the vectors a_k in the body frame, as columns (natural.principal_axes).
        n_vectors: how many of them are coordinates; in a plane the second is the first turned about the normal.

    Returns:
        [1, m], (N (1 + M), 3 (1 + n_vectors)).
    """
    entities = [(1.0, point - com) for point in basis.points] + [(0.0, vector) for vector in basis.vectors]
    rows = []
    for share, place in entities:
        s = axes.T @ place
        blocks = [share * np.eye(3), *(s[k] * np.eye(3) for k in range(n_vectors))]
        if basis.plane >= 0 and n_vectors:
            blocks[1] = blocks[1] + s[1] * rot.skew(axes[:, 2])
        rows.append(basis.axes @ np.concatenate(blocks, axis=1))
    return np.concatenate(rows)


@pytest.mark.parametrize(("kind", "plane"), KINDS)
def test_coordinates_are_a_constant_matrix_times_those_of_the_solver(kind, plane):
    body, M = Placed(kind, plane, 11), DIMS[kind]
    axes = body.R_g if plane < 0 else np.roll(np.eye(3), -(plane + 1), axis=0).T
    n_vectors = M if plane < 0 or not M else 1
    R = rot.quat_to_matrix(body.pose[3:])
    p, A = rot.pose_apply(body.pose, body.com), R @ axes
    own = np.concatenate([p, *A.T[:n_vectors]])
    own_rate = np.concatenate([body.twist[:3], *np.cross(body.twist[3:], A.T[:n_vectors])])
    T = from_internal(body.basis, body.com, axes, n_vectors)
    assert np.abs(T @ own - body.q).max() < ROUNDING
    assert np.abs(T @ own_rate - body.qd).max() < ROUNDING
    assert np.abs(np.linalg.pinv(T) @ body.q - own).max() < ROUNDING * 100


@pytest.mark.parametrize(
    ("words", "basis", "com"),
    [
        ("one place", Basis("2P2V", np.array([[[0, 0, 1], [0, 0, 1]]]), np.eye(3)[None, :2]), (0, 0, 0)),
        ("dependent", Basis("1P3V", np.zeros((1, 1, 3)), np.array([[[1, 0, 0], [0, 1, 0], [1, 1, 0]]])), (0, 0, 0)),
        ("dependent", Basis("1P3V", np.zeros((1, 1, 3)), np.array([[[1, 0, 0], [0, 1e-9, 0], [1, 1e-9, 0]]])), (0, 0, 0)),
        ("dependent", Basis("1P3V", np.zeros((1, 1, 3)), np.array([[[1, 0, 0], [0, 1, 0], [0, 0, 0]]])), (0, 0, 0)),
        ("", Basis("1P3V", np.zeros((1, 1, 3)), np.array([[[1e-20, 0, 0], [0, 1, 0], [0, 0, 1e9]]])), (0, 0, 0)),
        ("dependent", Basis("3P", np.array([[[0, 0, 0], [1, 0, 0], [2, 0, 0]]]), np.zeros((1, 0, 3)), 2), (0, 0, 0)),
        ("off its axis", Basis("2P", np.array([[[0, 0, 0], [1, 0, 0]]]), np.zeros((1, 0, 3))), (0.5, 0.1, 0)),
        ("inertia about", Basis("2P", np.array([[[0, 0, 0], [1, 0, 0]]]), np.zeros((1, 0, 3))), (0.5, 0, 0)),
        ("not at its centre", Basis("1P", np.array([[[0, 0, 0]]]), np.zeros((1, 0, 3))), (0.5, 0, 0)),
        ("out of the plane", Basis("1P2V", np.zeros((1, 1, 3)), np.array([[[1, 0, 0.1], [0, 1, 0]]]), 2), (0, 0, 0)),
        ("", Basis("2P2V", np.array([[[0, 0, 0], [1, 0, 0]]]), np.array([[[0, 1, 0.5], [0, 0, 3]]])), (0, 0, 0)),
    ],
)
def test_what_describes_no_body_is_named(words, basis, com):
    found = con.complain(basis, np.array([com], float), np.diag((0.1, 0.2, 0.2))[None])
    assert words in found
    assert bool(words) == bool(found)


PAGE = (Path(simcli.__file__).parent / "docs" / "python.md").read_text(encoding="utf-8")
SCENE = re.search(r"```yaml\n(.*?)```", PAGE, re.DOTALL)[1]
THINGS = (
    None,
    5,
    -1,
    2.5,
    float("nan"),
    True,
    1j,
    10**400,
    np.float64(2),
    b"x",
    "",
    "\0",
    "\ud800",
    "no such",
    "joint.hinge.q",
    [],
    [1],
    [None],
    [[1], [1, 2]],
    (),
    {},
    {1: 2},
    {"a": None},
    {"rail": "x"},
    {"joint.hinge.q": None},
    set(),
    range(3),
    object(),
    len,
    ...,
    np.zeros(3),
    np.array(["a"]),
)
METHODS = {
    "step": {"n": 0, "control": {"rail": 0.1}},
    "get": {"name": "joint.hinge.q", "dlpack": False},
    "set": {"name": "joint.hinge.q", "values": 0.1, "worlds": None},
    "reset": {"worlds": None, "episode": None},
    "save": {"path": "state.npz", "force": True},
    "restore": {"snapshot": None},
    "record": {"path": "run.h5", "force": True},
}


def try_all(function, given, finish=lambda result: None):
    """A call with each thing in the place of each argument."""
    wrong = []
    for name in given:
        for thing in THINGS:
            try:
                finish(function(**{**given, name: thing}))
            except SimcliError:
                pass
            except Exception as error:
                wrong.append(f"{name}={thing!r}: {error!r}")
    assert wrong == []


def names_of(function):
    return [
        name
        for name, one in inspect.signature(function).parameters.items()
        if name != "self" and one.kind is not one.VAR_KEYWORD
    ]


@pytest.fixture
def here_of_python_arguments(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("cartpole.yaml").write_text(SCENE)


def classes_below(kind):
    """A class and those that are made of it."""
    return {kind, *(one for below in kind.__subclasses__() for one in classes_below(below))}


@pytest.fixture
def sim(here_of_python_arguments):
    with simcli.Simulation("cartpole.yaml", worlds=3, device="cpu", vary=["joints.hinge.damping"]) as sim:
        yield sim


def test_openings_of_any_kind(here_of_python_arguments):
    given = {name: one.default for name, one in inspect.signature(simcli.Simulation).parameters.items()}
    try_all(simcli.Simulation, given | {"scene": "cartpole.yaml", "device": "cpu"}, simcli.Simulation.close)


def test_all_methods_are_tried():
    """Those of the page that take something."""
    named = {name for name in re.findall(r"\bsim\.(\w+)\(", PAGE) if names_of(getattr(simcli.Simulation, name))}
    assert named <= set(METHODS)
    for name, given in METHODS.items():
        assert names_of(getattr(simcli.Simulation, name)) == list(given)


@pytest.mark.parametrize("method", METHODS)
def test_methods_of_any_kind(sim, method):
    def close(result):
        if method == "record":
            result.close()

    try_all(getattr(sim, method), METHODS[method], close)


@pytest.mark.parametrize("name", ["rail", "$u", "signal.u", "joint.hinge.q", "joints.hinge.damping"])
def test_values_of_any_kind(sim, name):
    for thing in THINGS:
        for call in (lambda: sim.step(0, {name: thing}), lambda: sim.set({name: thing})):  # noqa: B023
            with contextlib.suppress(SimcliError):
                call()


@pytest.mark.parametrize("function", [simcli.open, simcli.load], ids=lambda one: one.__name__)
def test_files_of_any_kind(here_of_python_arguments, function):
    given = {"path": "cartpole.yaml", "sets": ()}
    try_all(function, {name: given[name] for name in names_of(function)})


def test_sweeps_of_any_kind(here_of_python_arguments, monkeypatch):
    def stopped(*given):
        raise in_python.SweepStoppedError("it stands")

    monkeypatch.setattr(in_python, "drive_sweep", stopped)
    given = {name: one.default for name, one in inspect.signature(simcli.sweep).parameters.items()}
    given |= {"path": "cartpole.yaml", "folder": "night", "device": "cpu"}
    try_all(simcli.sweep, given)
    for name in ("vary", "choices", "measure"):
        try_all(lambda value, name=name: simcli.sweep(**{**given, name: {"joints.hinge.q": value}}), {"value": None})


REFUSED = {
    "scene: 5 is no path; write one as 'scene.yaml'": lambda: simcli.Simulation(5),
    "device: 5 is no text; write one as 'cpu'": lambda: simcli.Simulation("cartpole.yaml", device=5),
    "threads: 1000000 threads; take 1 to": lambda: simcli.Simulation("cartpole.yaml", threads=10**6),
    "open: None is no path": lambda: simcli.open(None),
    "load: b'a' is no path": lambda: simcli.load(b"a"),
    "step: True is no whole number of steps": lambda: simcli.Simulation("cartpole.yaml", device="cpu").step(True),
    "step: np.True_ is no whole number": lambda: simcli.Simulation("cartpole.yaml", device="cpu").step(np.True_),
    "worlds: True is no whole number": lambda: simcli.Simulation("cartpole.yaml", worlds=True),
    "threads: True is no whole number": lambda: simcli.Simulation("cartpole.yaml", threads=True),
    "max_worlds: True is no whole number": lambda: simcli.sweep("cartpole.yaml", max_worlds=True),
    "set `a.enabled`: 5 is no flag": lambda: fitting_numbers("set `a.enabled`", 5, (1, 1), dtype=bool),
    "workers: '2' is no whole number": lambda: simcli.sweep("cartpole.yaml", workers="2"),
    "vary `joints.hinge.q`: .* is no number, text, list or dict": lambda: simcli.sweep(
        "cartpole.yaml", vary={"joints.hinge.q": {1}}
    ),
}


@pytest.mark.parametrize("words", REFUSED)
def test_what_to_write_is_told(here_of_python_arguments, words):
    with pytest.raises(UsageError, match=words):
        REFUSED[words]()


def test_what_to_write_to_a_file_is_told(sim):
    with pytest.raises(UsageError, match="record: None is no path; write one as"):
        sim.record(None)
    with pytest.raises(UsageError, match="force: 'no' is no flag; write True or False"):
        sim.record("run.h5", force="no")
    sim.record("run.h5").close()


def test_what_cannot_leave_its_process_says_so(sim, here_of_python_arguments):
    """What a pool of processes takes is pickled; so are errors of its workers, which a pool waits for in vain otherwise."""
    with sim.record("pickled.h5"):
        sim.step(10)
    with simcli.open("pickled.h5") as run:
        for thing, words in ((sim, "`restore` takes"), (run, "hand over its path")):
            for call in (pickle.dumps, copy.copy, copy.deepcopy):
                with pytest.raises(TypeError, match=words):
                    call(thing)
    sim.restore(pickle.loads(pickle.dumps(sim.save())))


@pytest.mark.parametrize("kind", sorted(classes_below(SimcliError), key=lambda one: one.__qualname__))
def test_errors_come_out_of_other_processes(kind):
    given = ([Fault("SC101", "bad", Where("a.yaml", 3, 2))],) if issubclass(kind, SceneError) else ("bad",)
    error = kind(*given, 3) if issubclass(kind, DeviceMemoryError) else kind(*given)
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), again.args) == (kind, str(error), error.args)
    assert {**vars(again)} == {**vars(error)}


def test_arguments_and_overrides_do_not_contradict_each_other(here_of_python_arguments):
    with pytest.raises(SceneError, match=r"`--worlds 3` and `--set batch\.worlds=4` contradict each other"):
        simcli.Simulation("cartpole.yaml", worlds=3, sets=["batch.worlds=4"], device="cpu")
    with pytest.raises(SceneError, match=r"`--worlds 3` and `--set batch\.worlds=4` contradict each other"):
        simcli.sweep("cartpole.yaml", "night", worlds=3, sets=["batch.worlds=4"])


def test_a_file_that_is_there_is_told_in_words_of_python(sim):
    sim.record("there.h5").close()
    with pytest.raises(OutputError, match="give force=True"):
        sim.record("there.h5")
