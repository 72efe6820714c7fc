"""The tree of a scene: how it is found, and that the work grows with the scene and no faster."""

import sys

import pytest

from simcli.model.from_scene import build
from simcli.spec.document.scene_file import document_of_text
from simcli.spec.names import structure
from simcli.spec.resolve import resolve

BODY = "{mass: 1, inertia: {diag: [1, 1, 1]}}"
BASE, MORE = 20, 100  # bodies of two scenes, so that what does not grow with the bodies is taken out
# Calls, of Python and of C, from the text to the model for one more free body: the numbers found, and a tenth.
CALLS = {"maximal": 518, "affine": 710, "generalized": 800, "natural": 697}
LOOKS = 4  # at the joints of a body: once without and once with distance joints, twice beyond one of these


def spec_of(bodies: str, joints: str = ""):
    text = f"simcli: 1\nbodies:\n{bodies}\njoints: {{{joints}}}\nsolver: {{type: maximal, dt: 1e-3}}\nrun: {{duration: 1}}\n"
    return resolve(document_of_text(text, "tree.yaml"))


class Counted(dict):
    """Joints at each body, with the number of looks at them."""

    looks = 0

    def get(self, *key):
        self.looks += 1
        return super().get(*key)


def test_the_search_is_linear_in_free_bodies(monkeypatch):
    n, counts = 300, []

    class Watched(structure._Walk):
        def __init__(self, spec):
            super().__init__(spec)
            self.at = Counted(self.at)
            counts.append(self.at)

    spec = spec_of("\n".join(f"  b{k}: {BODY}" for k in range(n)))
    monkeypatch.setattr(structure, "_Walk", Watched)
    found = structure.tree(spec)
    assert found.free_bodies == tuple(f"b{k}" for k in range(n))
    assert counts[0].looks <= LOOKS * (n + 1)


def test_what_hangs_beyond_two_distance_joints_is_reached():
    bodies = "\n".join(f"  {name}: {BODY}" for name in "abcd")
    joints = ("ab: {type: distance, parent: a, child: b, length: 1}, bc: {type: revolute, parent: b, child: c}, "
              "cd: {type: distance, parent: c, child: d, length: 1}")  # fmt: skip
    found = structure.tree(spec_of(bodies, joints))
    assert found.free_bodies == ("a",)
    assert found.tree_joints == ("ab", "bc", "cd")


def calls_of(n: int, solver: str) -> int:
    """Calls from the text of n free bodies to their model."""
    bodies = "\n".join(f"  b{k}: {BODY[:-1]}, pose: {{xyz: [{k}, 0, 1]}}}}" for k in range(n))
    text = f"simcli: 1\nbodies:\n{bodies}\nsolver: {{type: {solver}, dt: 1e-3}}\nrun: {{duration: 1}}\n"
    count = 0

    def counted(frame, event, argument):
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(counted)
    try:
        document = document_of_text(text, "many.yaml")
        model = build(resolve(document), document)
    finally:
        sys.setprofile(None)
    assert model.n_bodies == n
    return count


@pytest.mark.parametrize("solver", CALLS)
def test_a_free_body_is_read_checked_and_built_in_few_calls(solver):
    calls_of(1, solver)  # imports, and what is made once
    assert calls_of(MORE, solver) - calls_of(BASE, solver) <= CALLS[solver] * (MORE - BASE)
