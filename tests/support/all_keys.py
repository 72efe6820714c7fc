"""Scenes from text to SceneSpec in a folder of a test."""

from simcli.errors import SceneError
from simcli.spec import load_document, resolve
from simcli.spec.base.fault_list import Faults

ROUNDING = 1e-14  # of products of a few rotations
REFUSED = {"SC501"}  # parts of the format that the solvers of this version do not support


def document(tmp_path, text, sets=()):
    path = tmp_path / "scene.yaml"
    path.write_text(text)
    return load_document(path, sets)


def codes(tmp_path, text, sets=()):
    try:
        resolve(document(tmp_path, text, sets))
    except SceneError as error:
        return {fault.code for fault in error.faults}
    return set()


BODY = "{mass: 1, inertia: {diag: [1, 1, 1]}}"
HEAD = "simcli: 1\n"


def resolve_ignoring(tmp_path, text):
    """The scene although the solver does not support all of it."""
    from simcli.spec.resolve import _scene

    faults = Faults()
    spec = _scene(document(tmp_path, text), faults)
    assert {fault.code for fault in faults.errors} <= REFUSED
    return spec
