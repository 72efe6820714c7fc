"""Collision alone: shapes at given poses in, contacts out."""

import numpy as np

from simcli import rotations as rot
from simcli.kernels.collision.collider import Collider
from simcli.kernels.collision.detect import detect
from simcli.kernels.device.arena import Arena
from simcli.kernels.device.model_tables import Tables
from simcli.kernels.language import ti
from simcli.model import build
from simcli.model.bodies.colliders import colliders
from simcli.model.joints.tree_kinematics import link_points
from simcli.spec import load_document, resolve

SHAPES = {
    "sphere": "{type: sphere, radius: 0.3}",
    "point": "{type: sphere, radius: 0}",
    "box": "{type: box, size: [0.5, 0.7, 0.9]}",
    "capsule": "{type: capsule, radius: 0.2, length: 0.6}",
    "cylinder": "{type: cylinder, radius: 0.3, length: 0.7}",
    "cone": "{type: cone, radius: 0.35, length: 0.8}",
    "ellipsoid": "{type: ellipsoid, radii: [0.25, 0.35, 0.5]}",
    "mesh": "{type: mesh, file: rock.obj}",
}
ROCK = np.random.default_rng(3).normal(size=(14, 3)) * (0.25, 0.3, 0.35)
SOLIDS = {  # for supports.py
    "sphere": ("sphere", (0.3,)),
    "point": ("sphere", (0.0,)),
    "box": ("box", np.array((0.25, 0.35, 0.45))),
    "capsule": ("capsule", (0.2, 0.3)),
    "cylinder": ("cylinder", (0.3, 0.35)),
    "cone": ("cone", (0.35, 0.4)),
    "ellipsoid": ("ellipsoid", np.array((0.25, 0.35, 0.5))),
    "mesh": ("mesh", ROCK),
}


def rock_file(folder):
    """A mesh whose points matter only: one fan of triangles through all of them."""
    lines = [f"v {x!r} {y!r} {z!r}" for x, y, z in ROCK.tolist()]
    lines += [f"f 1 {k} {k + 1}" for k in range(2, len(ROCK))]
    (folder / "rock.obj").write_text("\n".join(lines) + "\n")


def body(name, shapes):
    """A body of shapes by name, given as YAML."""
    parts = ", ".join(f"{key}: {value}" for key, value in shapes.items())
    return f"  {name}: {{mass: 1, inertia: {{diag: [1, 1, 1]}}, shapes: {{{parts}}}}}\n"


def scene(world, bodies, extra=""):
    """A scene of shapes in the world and of bodies, each a mapping of names to YAML."""
    parts = ", ".join(f"{key}: {value}" for key, value in world.items())
    return (
        f"simcli: 1\nworld: {{shapes: {{{parts}}}}}\nbodies:\n"
        + "".join(body(name, shapes) for name, shapes in bodies.items())
        + f"solver: {{type: generalized, dt: 1e-3}}\nrun: {{duration: 1}}\n{extra}"
    )


def terrain(heights, size):
    """A heightfield of an extent along x and y."""
    rows = ", ".join(f"[{', '.join(repr(float(z)) for z in row)}]" for row in heights)
    return f"{{type: heightfield, size: [{size[0]}, {size[1]}, 1], data: [{rows}]}}"


def read_model(folder, text):
    """Model of a scene; what solvers support does not matter (use the fixture of conftest.py)."""
    rock_file(folder)
    path = folder / "scene.yaml"
    path.write_text(text)
    document = load_document(path)
    return build(resolve(document), document)


class Bench:
    """Collision of a model's shapes, in as many worlds as there are poses to try."""

    def __init__(self, model, device, n_worlds, more=None):
        self.model, self.host = model, colliders(model)
        self.device = device.for_worlds(n_worlds)
        self.arena = Arena(self.device, n_worlds)
        self.tables = Tables(model, self.arena)
        self.collider = Collider(model, self.tables, self.arena)
        self.state = more(self.tables, self.arena) if more else None
        self.arena.build()
        self.tables.arena.upload()

    def run(self, pose, margin=0.0):
        """Contacts of shapes whose bodies are at poses, one for each shape: bodies may come apart here.

        Args:
            pose: [m, 1], (W, S, 7), of the body of each shape, or of the frame of what stands in the world.
            margin: [m].

        Returns:
            As of `contacts`.
        """
        c = self.collider
        at = rot.pose_compose(pose, self.model.shapes.pose)
        R = rot.quat_to_matrix(at[..., 3:])
        shift = self.host.position - link_points(self.model.links, self.model.shapes.body, self.model.shapes.pose[..., :3])
        middle = np.einsum("vsji,vsj->vsi", self.host.rotation, shift)  # of a hull, shape axes
        x = at[..., :3] + np.einsum("wsij,vsj->wsi", R, middle)
        pad = ((0, 0), (0, 1), (0, 0))
        c.rotation.write(np.pad(R.reshape(*R.shape[:2], 9), pad))
        c.base.write(np.zeros((1, c.base.n_items, 3)))
        c.position.write(np.pad(x, pad))
        c.margin.write(np.full((1, c.margin.n_items, 1), margin / 2))
        c.spare.write(np.zeros((1, c.spare.n_items, 3)))
        self.arena.launch(run_detect, c, self.arena.n_blocks)
        return self.contacts()

    def contacts(self):
        """The table: arrays by name, (W, C, ...), NaN beyond the number of contacts."""
        table = self.collider.contacts
        found = {name: getattr(table, name).read() for name in NAMES}
        count = found.pop("count")[:, 0, 0].astype(int)
        beyond = np.arange(table.capacity) >= count[:, None]
        for name in found:
            if name != "needed":
                found[name][beyond] = np.nan
                found[name] = found[name][..., 0] if found[name].shape[-1] == 1 else found[name]
        a, b = self.model.contacts.pairs[:2]
        number = {pair: k for k, pair in enumerate(zip(a.tolist(), b.tolist(), strict=True))}
        ends = zip(found["shape_a"].ravel(), found["shape_b"].ravel(), strict=True)
        found["pair"] = np.array([number.get(pair, np.nan) for pair in ends]).reshape(found["shape_a"].shape)
        return {**found, "count": count, "needed": found["needed"][:, 0, 0].astype(int)}

    def shape(self, name):
        """Index of a shape."""
        return self.model.shapes.name.index(name)

    def pair(self, first, second):
        """Index of a pair, and whether it stands the other way round."""
        i, j = self.shape(first), self.shape(second)
        pairs = list(zip(*(side.tolist() for side in self.model.contacts.pairs[:2]), strict=True))
        return (pairs.index((i, j)), False) if (i, j) in pairs else (pairs.index((j, i)), True)

    def destroy(self):
        """Free the memory."""
        self.arena.destroy()


NAMES = (
    "count",
    "needed",
    "shape_a",
    "shape_b",
    "feature",
    "point",
    "normal",
    "gap",
    "core_a",
    "core_b",
    "radius_a",
    "radius_b",
)


@ti.kernel
def run_detect(c: ti.template(), n_blocks: ti.i32):
    """All contacts of all worlds."""
    for w in range(n_blocks):
        c.arena.enter(w)
        detect(c, w)


def random_poses(rng, n, n_shapes, spread):
    """[m, 1], (n, n_shapes, 7): positions within `spread`, any rotation."""
    quat = rot.unit(rng.normal(size=(n, n_shapes, 4)))
    return np.concatenate([rng.uniform(-spread, spread, size=(n, n_shapes, 3)), quat], axis=-1)
