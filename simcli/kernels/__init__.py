"""Numbers on the device: lane algebra, charts, rigid-body algorithms and forces, in Taichi.

In: a `model.Model` and arrays. Out: arrays. Never found here: time stepping, files, scenes, printing.

Every smooth device function is written once on a "real" that is a lane pack on the CPU (4 worlds in float64, 8 in
float32, side by side in one `ti.Vector`) and a plain scalar on a GPU. From the lowest floor up:

    language    Taichi, as `ti`, and all that simcli changes of it: a room of its own
    runtime     the device: start, choice, compilation
    kernel_cache  folders of kernels;  kernel_session: what Taichi sees of them
    memory      memory of all worlds and packs: Arena, Slot (slots); the array (storage)
    values      Vec3, Mat3, Sym3, Quat, Motion, Force, Inertia: small values that compose as in a book
    notes       scalars for work that goes lane by lane
    elementary  sine and cosine, square roots and masks on packs; rotation_log
    self_test   what a GPU must get right when it starts
    tables      the model's tables on the device
    tree        the tree chart: coordinates to poses and twists of links, and back (projection, loops)
    dynamics    articulated-body algorithm, recursive Newton-Euler, composite inertias
    coordinate_laws  what acts on one coordinate: force, stiffness, damping and energy of each law
    forces      joint efforts, springs, wrenches (points, cables); signals drive them
    rows        constraint rows: residuals, rates, biases, pulls (successive: turns one after the other)
    quadratic   rows in natural coordinates as polynomials
    laws        what bounds a coordinate: limits, friction, drives with a limit, choice of pieces
    sparse      L D L^T on a fixed pattern;  system: mass and rows and laws in one matrix (system_entries)
    collision   shapes to contacts, a room of its own
    complementarity  impulses of rows and frictional contacts, a room of its own
    rays        solids to pictures, a room of its own
    report      what a frame holds
    algorithms  the host's door to them: arrays of states in, arrays out
    balance     forces, rows and reactions at rest, for equilibria and small motions
"""

from simcli.kernels import language  # noqa: F401  (what it sets has to be there before Taichi)
