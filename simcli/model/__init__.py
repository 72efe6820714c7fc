"""Meaning to numbers.

Comes in: a SceneSpec (names, SI floats). Goes out: a Model of read-only numpy tables, the joint catalogue, topology,
mass properties, and what `simcli show` prints. Never found here: text and marks of scene files, Taichi, time stepping.

    table_base   base of the tables: a frozen dataclass of numpy columns that nobody can write
    tables       the model: read-only numpy tables
    bodies       bodies: mass, shape, points
    joints       joints: the catalogue, and what a scene says of each
    tree         the spanning tree as links, and what follows from its shape
    forces       forces of a scene, a file each, named as in spec/forces/
    sensors      sensors: what looks where
    signals      signals: functions of time, and what they drive
    constraints  constraint rows and laws of a model
    contact      what can touch, and how
    natural      the natural form: bodies as points and vectors, rows as polynomials
    affine       what the affine solver reads: energies of bodies and joints
    mechanism    the parts of a mechanism in numbers, before they are laid out as tables
    assemble     parts to tables: offsets, labels, columns of dofs, links
    from_scene   a scene to a model: one world, or all worlds of a batch
    batch        many worlds as one model, and parts of it
    closure      the state in which a run begins: loops closed, velocities of least kinetic energy, limits kept
    phases       where a run begins, and the stretches between its events
    unread       numbers of a scene that nothing reads
    state        State: where the bodies and joints of all worlds are, and how they move, as plain numpy arrays
    measures     quantities that a run looks at
    snapshot     FrameBlock: the common language between solvers, recorder, reader and analysis
    describe     what `simcli show` says of a model: its tree, the layout of its coordinates, its degrees of freedom
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simcli.model.from_scene import build, build_worlds

__all__ = ["build", "build_worlds"]


def __getattr__(name: str) -> Any:
    """Load the builder, which needs the spec, on its first use: kernels and records need the tables only."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("simcli.model.from_scene"), name)
