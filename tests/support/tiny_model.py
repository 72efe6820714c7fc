"""A small Model built from the tables alone, and frames to go with it."""

from functools import lru_cache

import numpy as np

from simcli.model.snapshot import ContactRows, FrameBlock
from simcli.model.tables.body_tables import Bodies, Points, Shapes
from simcli.model.tables.force_tables import Cables, Springs, Wrenches
from simcli.model.tables.joint_tables import Dofs, Joints, Links, Mimics
from simcli.model.tables.model import JointKind, Model, ShapeKind
from simcli.model.tables.signal_tables import Motions
from simcli.records.contents.layout import selected
from simcli.records.contents.select import axes_of

IDENTITY = np.array([0.0, 0, 0, 0, 0, 0, 1])


def tiny_model(n_worlds=3, n_links=2, floating=True):
    """A chain of hinges `hinge0`.. that carries the bodies `link0`.., and, if floating, a free body `ball` with the
    joint `ball_free`; one mesh, one spring, two named points, one varied parameter."""
    names = [f"link{k}" for k in range(n_links)] + ["ball"] * floating
    joints = [f"hinge{k}" for k in range(n_links)] + ["ball_free"] * floating
    n, nj = len(names), len(joints)
    kind = np.array([JointKind.REVOLUTE] * n_links + [JointKind.FREE] * floating)
    n_q = np.array([1] * n_links + [7] * floating)
    n_qd = np.array([1] * n_links + [6] * floating)
    nv, nq = int(n_qd.sum()), int(n_q.sum())
    dim = np.array([[0, 1]] * n_links + [[3, 3]] * floating)
    free_labels = [f"ball_free:{k}" for k in range(7)] if floating else []
    zeros = np.zeros((1, nv))
    varied = np.linspace(1.0, 2.0, n_worlds)[:, None] * np.ones((1, n))
    empty = np.zeros((0, 3))
    return Model(
        n_worlds=n_worlds,
        bodies=Bodies(tuple(names), varied, np.zeros((1, n, 3)), np.tile(np.eye(3), (1, n, 1, 1)),
                      np.tile(IDENTITY, (1, n, 1)), np.zeros(n, bool), np.full(n, -1), *np.zeros((2, 1, n))),
        joints=Joints(tuple(joints), kind, np.array([*range(-1, n_links - 1), *[-1] * floating]), np.arange(nj),
                      np.ones(nj, bool), np.ones(nj, bool), np.zeros(nj, int), ("chain",),
                      np.tile(IDENTITY, (1, nj, 1)), np.tile(IDENTITY, (1, nj, 1)), np.zeros((1, nj)),
                      np.concatenate([[0], np.cumsum(n_q)]), np.concatenate([[0], np.cumsum(n_qd)]), dim,
                      np.zeros((1, nj)), np.full((1, nj, 2), np.nan), np.zeros((1, nj)), *np.zeros((2, 1, nj, 3))),
        dofs=Dofs(tuple(joints[:n_links] + free_labels[:6]), tuple(joints[:n_links] + free_labels),
                  np.tile([0.0, 1, 0], (1, nv, 1)), np.repeat(np.arange(nj), n_qd), zeros, zeros, zeros,
                  zeros, zeros, zeros,
                  zeros - np.inf, zeros + np.inf, zeros, zeros, zeros + np.inf, np.zeros(nv, int), zeros, zeros,
                  zeros, zeros, zeros + np.inf, zeros - np.inf, zeros + np.inf, np.zeros(nv, bool), np.zeros(nv, bool)),
        links=Links(*[np.zeros(0)] * 18),
        mimics=Mimics(("hinge1",), np.array([1]), np.array([0]), np.ones((1, 1)), np.zeros((1, 1)), np.zeros((1, 1, 0))),
        shapes=Shapes(("link0/rod", "ground"), np.array([ShapeKind.MESH, ShapeKind.PLANE]), np.array([0, -1]),
                      np.zeros((1, 2, 3)), np.zeros((1, 2)), np.zeros((1, 2, 3)),
                      np.tile(IDENTITY, (1, 2, 1)), np.array([True, False]),
                      (np.arange(12.0).reshape(4, 3), empty), (np.array([[0, 1, 2], [0, 2, 3]]), empty.astype(int))),
        points=Points(("link0/tip", "link1/tip"), np.array([0, 1]), np.zeros((1, 2, 3))),
        springs=Springs(("s",), np.array([[-1, 0]]), np.zeros((1, 1, 2, 3)), np.ones((1, 1)), np.zeros((1, 1)),
                        np.ones((1, 1)), np.array([False])),
        cables=Cables.empty(), wrenches=Wrenches.empty(), motions=Motions.empty(NV=nv),
        gravity=np.array([[0, 0, -9.81]]),
        joint_q=np.zeros((1, nq)), joint_qd=np.zeros((1, nv)), joint_f=np.zeros((1, nv)),
        param_name=("params.mass",), param_unit=("kg",), param_value=varied[:, :1].copy(),
        world_seed=np.arange(n_worlds, dtype=np.uint64) + 2**63,
    )


@lru_cache(maxsize=200)
def pattern(path, shape):
    return np.sin(sum(path.encode()) * 1e-3 + 0.01 * np.arange(int(np.prod(shape)), dtype=float)).reshape(shape)


def value(path, frame, shape):
    """Numbers that name their place: the same for a frame however the run is cut into blocks."""
    return pattern(path, shape) * (1.0 + 0.1 * frame) + frame


def contacts(n_worlds, first, n):
    """Contacts of frames first .. first + n - 1: up to four per world, in some frames none; numbers name their place."""
    frame, world = np.mgrid[first : first + n, :n_worlds]
    count = np.where(frame % 6 == 2, 0, (7 * frame + 3 * world) % 5)
    owner = np.repeat(np.arange(count.size), count.reshape(-1))
    slot = np.arange(len(owner)) - np.repeat(np.cumsum(count) - count.reshape(-1), count.reshape(-1))
    frame, world = frame.reshape(-1)[owner], world.reshape(-1)[owner]
    base = frame + 0.01 * world + 0.001 * slot
    triple = base[:, None] + np.array([0.1, 0.2, 0.3])
    columns = {"shape_a": world % 2, "shape_b": slot % 2, "point": triple, "normal": np.cos(triple), "gap": -base,
               "force": 10 * triple}
    return ContactRows(count, columns)


def frames(rows, axes, first, n, events=()):
    """Frames first .. first + n - 1 for the given datasets."""
    columns = {}
    for row in rows:
        if row.by_frame and row.path not in ("frames/time", "frames/step"):
            block = np.stack([value(row.path, frame, axes.tail(row)) for frame in range(first, first + n)])
            columns[row.path] = block.astype(row.dtype("float64")) if row.kind != "float" else block
    step = np.arange(first, first + n) * 10
    if "diag/status" in columns:
        columns["diag/status"] = np.zeros_like(columns["diag/status"])
    touching = contacts(axes.n_worlds, first, n) if any(row.channel == "contacts" for row in rows) else None
    return FrameBlock(step, step * 1e-3, columns, list(events), touching)


def datasets(model, channels, row_label=()):
    """Every growing dataset of a run of a model with these `output.channels`."""
    return selected(axes_of(model, row_label), channels)
