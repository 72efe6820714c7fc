"""Problems of contact in numpy, and what a solution of them must obey, written for readers and not for speed."""

import numpy as np

from support.impulses import Given

GRAVITY, STEP = 9.81, 0.01
KAPPA = 1e-4


def frame_at(normal):
    """Normal and two tangents."""
    normal = normal / np.linalg.norm(normal)
    side = np.cross(normal, np.eye(3)[np.argmin(abs(normal))])
    side /= np.linalg.norm(side)
    return np.stack((normal, side, np.cross(normal, side)))


def contact(n, axes, ends):
    """Rows (3, n) of a contact; ends: (sign, body, arm about its centre) of the bodies that it touches."""
    rows = np.zeros((3, n))
    for sign, body, arm in ends:
        rows[:, 6 * body : 6 * body + 3] += sign * axes
        rows[:, 6 * body + 3 : 6 * body + 6] += sign * np.cross(arm, axes)
    return rows


def box_mass(mass, half):
    a, b, c = np.square(half)
    return np.diag([mass] * 3 + [mass / 3 * (b + c), mass / 3 * (a + c), mass / 3 * (a + b)])


def corners(half, z):
    return [np.array([x, y, z]) for x in (-half[0], half[0]) for y in (-half[1], half[1])]


def incline(degrees, mu=0.5, start=0.0, kappa=KAPPA):
    """A box of 16 kg on a slope, in axes of the slope."""
    angle, half = np.radians(degrees), (0.2, 0.2, 0.05)
    free = np.array([start + STEP * GRAVITY * np.sin(angle), 0, -STEP * GRAVITY * np.cos(angle), 0, 0, 0])
    rows = [contact(6, frame_at(np.eye(3)[2]), [(1, 0, arm)]) for arm in corners(half, -half[2])]
    return Given(box_mass(16.0, half), free, contacts=np.array(rows), mu=mu, kappa=kappa)


def table(feet, mu=0.5, push=0.0, kappa=KAPPA):
    """A plate of 20 kg on feet around its rim, pushed sideways [N]."""
    angles = 2 * np.pi * np.arange(feet) / feet
    arms = np.stack((0.5 * np.cos(angles), 0.5 * np.sin(angles), np.full(feet, -0.1)), axis=1)
    rows = [contact(6, frame_at(np.eye(3)[2]), [(1, 0, arm)]) for arm in arms]
    free = np.array([STEP * push / 20.0, 0, -STEP * GRAVITY, 0, 0, 0])
    return Given(box_mass(20.0, (0.5, 0.5, 0.1)), free, contacts=np.array(rows), mu=mu, kappa=kappa)


def stack(count, heavy, mu=0.5, kappa=KAPPA):
    """Boxes on each other, the last one heavier; four contacts each."""
    half, n = (0.1, 0.1, 0.1), 6 * count
    mass, free, rows = np.zeros((n, n)), np.zeros(n), []
    for k in range(count):
        body = slice(6 * k, 6 * k + 6)
        mass[body, body] = box_mass(heavy if k == count - 1 else 1.0, half)
        free[6 * k + 2] = -STEP * GRAVITY
        for arm in corners(half, -half[2]):
            below = [(-1, k - 1, arm + np.array([0.003 * (-1) ** k, 0, 0.2]))] if k else []
            rows.append(contact(n, frame_at(np.eye(3)[2]), [(1, k, arm), *below]))
    return Given(mass, free, contacts=np.array(rows), mu=mu, kappa=kappa)


def pile(seed, bodies=5, contacts=20, kappa=KAPPA):
    """Bodies of random inertia that touch the ground and each other in random places."""
    rng = np.random.default_rng(seed)
    n = 6 * bodies
    mass, rows = np.zeros((n, n)), []
    for k in range(bodies):
        spread = rng.normal(size=(3, 3))
        mass[6 * k : 6 * k + 3, 6 * k : 6 * k + 3] = rng.uniform(0.5, 3.0) * np.eye(3)
        mass[6 * k + 3 : 6 * k + 6, 6 * k + 3 : 6 * k + 6] = 0.01 * (spread @ spread.T + np.eye(3))
    for c in range(contacts):
        one = int(rng.integers(bodies))
        ends = [(1, one, rng.normal(size=3) * 0.1)]
        if c >= contacts // 3:
            ends.append((-1, (one + 1 + int(rng.integers(bodies - 1))) % bodies, rng.normal(size=3) * 0.1))
        rows.append(contact(n, frame_at(rng.normal(size=3) * 0.4 + np.eye(3)[2]), ends))
    free = rng.normal(size=n) * 0.05
    free[2::6] -= STEP * GRAVITY
    return Given(mass, free, contacts=np.array(rows), mu=rng.uniform(0.2, 0.8, contacts), kappa=kappa)


def limited(seed, rows=8):
    """Motors, limits and joints and contacts on three bodies: rows of every kind, some of them twice."""
    rng = np.random.default_rng(seed)
    one = pile(seed, bodies=3, contacts=8)
    jacobian = rng.normal(size=(rows, 18)) * (rng.random((rows, 18)) < 0.4)
    jacobian[1], jacobian[5] = jacobian[0], 2.0 * jacobian[4]
    lower = np.array([-np.inf, -np.inf, 0.0, -0.02, -0.01, -np.inf, -np.inf, 0.0])
    upper = np.array([np.inf, np.inf, np.inf, 0.02, 0.01, 0.03, np.inf, np.inf])
    compliance = np.array([0, 0, 0, 0.5, 0, 0, 0, 0.1])
    bias = rng.normal(size=rows) * 0.05
    bias[1] = bias[0]
    return Given(one.M, one.free, jacobian, bias, compliance, lower, upper, one.contacts, mu=one.mu, kappa=KAPPA)


def speeds(given, velocity, rows, contacts):
    """w of rows and of contacts, without the proximal term."""
    w = given.rows @ velocity + given.bias + given.compliance * rows
    return w, given.contacts @ velocity + given.contact_bias + given.contact_compliance * contacts


def diagonals(given):
    """J M^-1 J^T of rows, and of each direction of contacts."""
    inverse = np.linalg.inv(given.M)
    return (
        np.einsum("ra,ab,rb->r", given.rows, inverse, given.rows),
        np.einsum("cia,ab,cib->ci", given.contacts, inverse, given.contacts),
    )


def natural_map(given, velocity, rows, contacts):
    """Largest violation [m/s]: projections of x - d^-1 u on the bounds and on the cones, by their definitions."""
    w, u = speeds(given, velocity, rows, contacts)
    d_rows, d = diagonals(given)
    d_rows = d_rows + given.compliance
    worst = [0.0, *abs(d_rows * (rows - np.clip(rows - w / d_rows, given.lower, given.upper)))]
    for x, speed, local, mu in zip(contacts, u, d.mean(axis=1), given.mu, strict=True):
        shifted = speed + np.array([mu * np.hypot(*speed[1:]), 0, 0])
        worst += [*abs(local * (x - nearest_on_cone(x - shifted / local, mu)))]
    return max(worst)


def nearest_on_cone(y, mu):
    """The nearest point with |x_t| <= mu x_n: y, the tip, or on the ray below y."""
    reach = np.hypot(*y[1:])
    if reach <= mu * y[0]:
        return y
    ray = np.array([1.0, *(mu * y[1:] / reach if reach > 0 else (0.0, 0.0))])
    return max(ray @ y, 0.0) / (ray @ ray) * ray


def seidel(given, tolerance=1e-13, sweeps=20000):
    """Impulses of contacts by projected Gauss-Seidel, the oracle: (k, 3), and the velocity.

    Knows no rows, no compliance, and no proximal term.
    """
    pulled = np.linalg.solve(given.M, given.contacts.reshape(-1, len(given.free)).T).T.reshape(given.contacts.shape)
    _, d = diagonals(given)
    x, velocity = np.zeros((len(given.mu), 3)), given.free.copy()
    for _ in range(sweeps):
        moved = 0.0
        for c, mu in enumerate(given.mu):
            before = x[c].copy()
            x[c, 0] = max(0.0, before[0] - (given.contacts[c, 0] @ velocity + given.contact_bias[c, 0]) / d[c, 0])
            velocity += pulled[c, 0] * (x[c, 0] - before[0])
            y = before[1:] - (given.contacts[c, 1:] @ velocity + given.contact_bias[c, 1:]) / d[c, 1:].mean()
            x[c, 1:] = y * min(1.0, mu * x[c, 0] / max(np.hypot(*y), 1e-300))
            velocity += (x[c, 1:] - before[1:]) @ pulled[c, 1:]
            moved = max(moved, abs((x[c] - before) * d[c]).max())
        if moved < tolerance:
            return x, velocity
    raise AssertionError(f"not converged: {moved}")
