"""Values that a scene's batch draws."""

import numpy as np

from simcli.spec import load_document, resolve, world_values
from simcli.spec.document.overrides import VARY, Override

P_VALUE = 1e-6  # of a false alarm, per test of a distribution; the seed is fixed, so that one is for ever
BASE = """\
simcli: 1
params: {a: 1, b: 2 kg, c: 0.1 m, d: 1, e: 1}
bodies:
  x: {mass: "${b}", inertia: {diag: [1, 1, 1]}, com: ["${a + c}", "${d}", "${e}"]}
joints:
  pin: {type: revolute, parent: world, child: x, axis: [0, 0, 1], damping: 0.1}
run: {duration: 1}
"""


def document(tmp_path, *vary, worlds=None, seed=0, more="", base=BASE, read_run=None):
    path = tmp_path / "scene.yaml"
    path.write_text(base + more)
    sets = [Override("--seed", str(seed), "batch.seed"), *(Override(VARY, text) for text in vary)]
    sets += [] if worlds is None else [Override("--worlds", str(worlds), "batch.worlds")]
    return load_document(path, sets, read_run)


def values(tmp_path, *vary, **options):
    doc = document(tmp_path, *vary, **options)
    return world_values(resolve(doc))


def column(tmp_path, vary, worlds=None, path="params.a", others=(), **options):
    return np.array([world[path] for world in values(tmp_path, f"{path}={vary}", *others, worlds=worlds, **options)])
