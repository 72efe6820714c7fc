"""Numbers on the device: lane algebra, articulations, rigid-body algorithms and forces, in Taichi.

In: a `model.Model` and arrays. Out: arrays. Never found here: time stepping, files, scenes, printing.

Every smooth device function is written once on a "real" that is a lane pack on the CPU (4 worlds in float64, 8 in
float32, side by side in one `ti.Vector`) and a plain scalar on a GPU. From the lowest floor up:

    language         the language of device code: Taichi, as simcli uses it
    device           the device: where kernels run, how they compile, and where they are kept
    machine_code     kernels as code of the machine, so that a process need not compile them
    memory           memory of all worlds, and how kernels see it
    algebra          small values on packs, and functions of them, free of branches
    articulation     kinematics and dynamics of trees in joint coordinates: rnea, crba, aba
    laws             laws of single coordinates: force, stiffness, damping, energy, bounds
    forces           forces on links and coordinates as columns of numbers
    rows             constraint rows: residuals, rates, and how a multiplier pulls
    linear           linear systems on patterns that all worlds share
    collision        contacts of shapes: poses in, one table of contacts per world out
    complementarity  impulses of joints, limits, drives and frictional contacts
    potentials       energies of affine bodies with their gradient and Hessian, from the rows of model/forms/affine_energy.py
    barrier          barrier contact: surfaces that never meet, by an energy that grows without bound as they come near
    report           from device state to frames: poses, twists, energies and reactions of one frame
    algorithms_core  what evaluates the rigid-body algorithms on the device: its memory, its kernels
    algorithms       the host's door to the rigid-body algorithms: arrays of states in, arrays out
    balance_core     what evaluates a balance on the device: its memory, its kernel
    balance          the balance of a mechanism at many states at once: efforts, rows, mass matrix
    rays             rays against solids: pictures without a display
"""

from simcli.kernels import language  # noqa: F401  (what it sets has to be there before Taichi)
