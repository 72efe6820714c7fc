"""Prescribed motions of joints of several dofs: closed forms of poses, efforts and work, the same in every solver."""

import numpy as np
import pytest
from support.forward import CHANNELS, Runner, slope

from simcli import rotations as rot
from simcli.kernels.algebra.values import Vec3
from simcli.kernels.forces.prescribed import spin_of_vector
from simcli.kernels.language import ti
from simcli.kernels.memory.arena import Arena

AT, COM, MASS, INERTIA = np.array([0.1, 0.2, -0.1]), np.array([0.1, 0.15, 0.2]), 1.2, np.diag([0.1, 0.2, 0.25])
GRAVITY = np.array([0.0, 0.0, -9.81])
END, DELTA = 0.2, 1e-3  # [s]; DELTA: of differences of fourth order, whose error is below 1e-7 here
SPIN = np.array([0.4, -1.0, 0.7])
X, Y, Z = np.eye(3)
TILTED = np.array([0.0, 0.6, 0.8])
# Signals by name: amplitude, frequency [Hz], offset. What a joint follows by position, and by velocity, which begins at 0.
SINES = {"a": (0.3, 2.0, 0.1), "b": (0.5, 1.0, 0.2), "c": (0.4, 1.5, 0.0)}
JOINTS = {
    "universal": "axes: {angular: [{axis: [0, 1, 0], motion: {position: $a}}, {axis: [0, 0, 1], motion: {velocity: $c}}]}",
    "cylindrical": "axis: [0, 0.6, 0.8], motion: [{position: $b}, {velocity: $c}]",
    "planar": "axis: [0, 0, 1], motion: [{position: $a}, {velocity: $c}, {position: $b}]",
    "d6": "axes: {linear: [[1, 0, 0]], angular: [[0, 1, 0], [0, 0, 1], [1, 0, 0]]},"
          " motion: [{velocity: $c}, {position: $a}, {position: $b}, {velocity: $c}]",
    "ball": "motion: [{position: $a}, {position: $b}, {position: $c}]",
    "spun": f"motion: [{{velocity: {SPIN[0]}}}, {{velocity: {SPIN[1]}}}, {{velocity: {SPIN[2]}}}]",
}  # fmt: skip


def followed(name, t, way):
    """Value of a signal; joints outside the tree begin at 0, where the coordinates that follow a velocity begin."""
    amplitude, frequency, offset = SINES[name]
    return (0.0 if way == "loop" else offset) + amplitude * np.sin(2 * np.pi * frequency * t)


def integrated(t):
    """Coordinate whose velocity is that of signal c."""
    amplitude, frequency, _ = SINES["c"]
    return amplitude * (1 - np.cos(2 * np.pi * frequency * t)) / (2 * np.pi * frequency)


def about(axis, angle):
    return rot.quat_to_matrix(rot.quat_from_axis_angle(np.array(axis), np.array(angle)))


def placed(name, t):
    """Rotation of a body and displacement of its anchor at a time; directions along which efforts act there."""
    kind, way = name.split("_")
    a, b, c = followed("a", t, way), followed("b", t, way), integrated(t)
    if kind == "universal":
        return about(Y, a) @ about(Z, c), np.zeros(3), [], [Y, about(Y, a) @ Z]
    if kind == "cylindrical":
        return about(TILTED, c), TILTED * b, [TILTED], [TILTED]
    if kind == "planar":
        return about(Z, b), X * a + Y * c, [X, Y], [Z]
    if kind == "d6":
        first = about(Y, a)
        second = first @ about(Z, b)
        return second @ about(X, c), X * c, [X], [Y, first @ Z, second @ X]
    vector = SPIN * t if kind == "spun" else np.array([a, b, followed("c", t, way)])
    return rot.quat_to_matrix(rot.quat_from_vector(vector)), np.zeros(3), [], list(np.eye(3))


def rate(function, t):
    """Derivative by differences of fourth order."""
    f = [function(t + k * DELTA) for k in (-2, -1, 1, 2)]
    return (f[0] - 8 * f[1] + 8 * f[2] - f[3]) / (12 * DELTA)


def centre(name, t):
    R, shift, _, _ = placed(name, t)
    return AT + shift + R @ (COM - AT)


def momentum(name, t):
    """Angular velocity, and angular momentum about the centre of mass."""
    R = placed(name, t)[0]
    W = rate(lambda s: placed(name, s)[0], t) @ R.T
    spin = np.array([W[2, 1], W[0, 2], W[1, 0]])
    return spin, R @ INERTIA @ R.T @ spin


def efforts(name, t):
    """What the motion takes along each dof, by Newton and Euler."""
    _, shift, linear, angular = placed(name, t)
    force = MASS * (rate(lambda s: rate(lambda u: centre(name, u), s), t) - GRAVITY)
    couple = rate(lambda s: momentum(name, s)[1], t) + np.cross(centre(name, t) - AT - shift, force)
    return np.array([*(axis @ force for axis in linear), *(axis @ couple for axis in angular)])


def energy(name, t):
    spin, turned = momentum(name, t)
    v = rate(lambda s: centre(name, s), t)
    return 0.5 * MASS * v @ v + 0.5 * spin @ turned - MASS * GRAVITY @ centre(name, t)


def text_of(solver, ways, kinds=tuple(JOINTS)):
    """A body for each joint and each way it can stand: in the tree, outside it, and leading a kinematic body."""
    bodies, joints = "", ""
    for way in ways:
        for kind in kinds:
            name, more = f"{kind}_{way}", {"loop": ", loop: true"}.get(way, "")
            at = f"at: {AT.tolist()}, {JOINTS[kind]}{more}"
            at = at.replace("$a", "$a0").replace("$b", "$b0") if way == "loop" else at
            joints += f"  {name}: {{type: {'ball' if kind == 'spun' else kind}, parent: world, child: {name}, {at}}}\n"
            held = ", kinematic: true" if way == "led" else ""
            bodies += f"  {name}: {{mass: {MASS}, com: {COM.tolist()}, inertia: {{diag: [0.1, 0.2, 0.25]}}{held}}}\n"
    sines = SINES | {f"{name}0": (a, f, 0.0) for name, (a, f, _) in SINES.items()}
    signals = "".join(f"  {name}: {{sine: {{amplitude: {a}, frequency: {f}, offset: {o}}}}}\n"
                      for name, (a, f, o) in sines.items())  # fmt: skip
    return f"bodies:\n{bodies}joints:\n{joints}signals:\n{signals}solver: {{type: {solver}, dt: 1 ms}}\n"


def errors_of(found, ways, kinds=tuple(JOINTS)):
    """Largest errors of positions, efforts and work at the end."""
    expected = [(name, placed(name, END)) for name in (f"{kind}_{way}" for way in ways for kind in kinds)]
    q = found["frames/body_q"][-1, 0]
    place = max(np.abs(AT + shift - R @ AT - q[n, :3]).max() for n, (_, (R, shift, _, _)) in enumerate(expected))
    turn = max(np.abs(rot.quat_to_matrix(q[n, 3:]) - R).max() for n, (_, (R, _, _, _)) in enumerate(expected))
    wanted = np.concatenate([efforts(name, END) for name, _ in expected])
    effort = np.abs(found["frames/joint_effort"][-1, 0, : len(wanted)] - wanted).max()
    work = sum(energy(name, END) - energy(name, 0.0) for name, _ in expected)
    return max(place, turn), effort, abs(found["energy/input"][-1, 0] - work)


CASES = [  # solver, integrator, ways, order, errors at 1 ms of places, efforts and work
    ("generalized", "rk4", ("tree", "loop"), 4, (1e-9, 1e-6, 1e-6)),
    ("natural", "zhong06", ("tree", "led"), 2, (5e-6, 5e-5, 1e-4)),
    ("maximal", "semi_implicit", ("tree",), 1, (1e-3, 1.0, 0.1)),
    pytest.param("generalized", "implicit", ("tree", "loop"), 2, (5e-6, 1e-4, 2e-3), marks=pytest.mark.slow),
    pytest.param("generalized", "semi_implicit", ("tree", "loop"), 1, (1e-3, 1.0, 0.2), marks=pytest.mark.slow),
    pytest.param("natural", "moreau", ("loop", "led"), 2, (5e-6, 5e-5, 1e-4), marks=pytest.mark.slow),
]  # fmt: skip


@pytest.mark.parametrize(("solver", "integrator", "ways", "order", "bounds"), CASES)
def test_closed_forms(device, solver, integrator, ways, order, bounds):
    runner = Runner(text_of(solver, ways), integrator, device, CHANNELS)
    steps = (2e-3, 1e-3)
    found = np.array([errors_of(runner(h, round(END / h), 1), ways) for h in steps])
    assert (found[-1] < bounds).all(), found
    for one, errors in zip(("place", "effort", "work"), found.T, strict=True):
        if errors[-1] > 1e-6:  # above what differences and rounding leave
            assert abs(slope(steps, errors) - order) < 0.2, (one, errors)


def test_an_affine_screw_motion(device):
    """A cylinder by position along and by velocity about its axis: as a coordinate, and as it leads a kinematic body."""
    ways, kinds = ("tree", "led"), ("cylindrical",)
    runner = Runner(text_of("affine", ways, kinds), "bdf2", device, CHANNELS)
    steps = (2e-3, 1e-3)
    found = np.array([errors_of(runner(h, round(END / h), 1), ways, kinds) for h in steps])
    assert (found[-1] < (1e-4, 1e-2, 1e-2)).all(), found


def test_rotation_vectors_and_what_turns(device):
    """Angular velocity and acceleration by the differences of a rotation, near none and far; device and host agree."""
    rng = np.random.default_rng(7)
    for size in (1e-3, 0.09, 0.11, 1.0, 3.0):
        p, p1, p2 = rng.normal(size=(3, 3))
        p *= size / np.linalg.norm(p)
        turned = lambda t, p=p, p1=p1, p2=p2: rot.quat_to_matrix(rot.quat_from_vector(p + p1 * t + 0.5 * p2 * t * t))  # noqa: E731

        def spin_at(t, turned=turned):
            W = rate(turned, t) @ turned(t).T
            return np.array([W[2, 1], W[0, 2], W[1, 0]])

        spin, twist = rot.spin_of_vector(p, p1, p2)
        assert spin == pytest.approx(spin_at(0.0), abs=1e-9)
        assert twist == pytest.approx(rate(spin_at, 0.0), abs=1e-8)
        on_device = spins_on(device, p, p1, p2)
        assert on_device == pytest.approx(np.concatenate((spin, twist)), rel=1e-12, abs=1e-13)


@ti.kernel
def spin_it(a: ti.template(), given: ti.template(), found: ti.template()):
    for w in range(a.n_blocks):
        a.enter(w)
        spin, twist = spin_of_vector(given.load(w, 0), given.load(w, 1), given.load(w, 2))
        found.store(w, 0, spin)
        found.store(w, 1, twist)


def spins_on(device, *vectors):
    arena = Arena(device, 1)
    given, found = arena.slot(3, Vec3), arena.slot(2, Vec3)
    arena.build()
    given.write(np.array(vectors)[None])
    arena.launch(spin_it, arena, given, found)
    return found.read()[0].ravel()
