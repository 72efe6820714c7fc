"""What `simcli check` and `simcli show` say of contact: overlaps where a run begins, shapes that can touch nothing."""

from math import isnan

from simcli.errors import Fault, SceneError, first_few
from simcli.model.bodies.contact_pairs import idle_shapes
from simcli.model.bodies.overlaps import find_cuts, find_overlaps
from simcli.spec.base.nodes import find
from simcli.spec.lookup.structure import WORLD_NAME

_MOST_WORLDS = 256  # of a batch that are looked at
_SHOWN = 5  # names in a message


def overlap_faults(document, spec, model) -> list[Fault]:
    """A warning for each pair of bodies that overlap where the run begins; an error where affine bodies of all worlds do.

    Args:
        document: the scene as written.
        spec: its meaning.
        model: its world 0.
    """
    if model.contacts is None:
        return []
    model = batch_of(document, spec, model)
    is_affine = spec.solver.type == "affine"
    found = find_cuts(model, spec.solver.contact.segments) if is_affine else find_overlaps(model)
    return [_fault(document, model, one, is_affine) for one in found]


def batch_of(document, spec, model):
    """The worlds that `check` looks at; world 0 alone where others make no mechanism, or cannot begin."""
    from simcli.pipeline import build_model
    from simcli.spec import n_worlds

    count = n_worlds(spec)
    if count == 1:
        return model
    step = -(-count // _MOST_WORLDS)
    try:
        return build_model(document, spec, tuple(range(0, count, step)))
    except SceneError:
        return model


def _fault(document, model, one, is_affine: bool) -> Fault:
    sides = [_owner(model, s) for s in sorted(one.shapes, key=lambda s: model.shapes.body[s])]
    names = [key if body == WORLD_NAME else body for body, key in sides]
    shapes = " and ".join(f"`{model.shapes.name[s]}`" for s in one.shapes)
    deep = "" if isnan(one.depth) else f" by {one.depth:.3g} m"
    worlds = f" in {one.n_worlds} of {model.n_worlds} worlds, deepest in world {one.world}" if model.n_worlds > 1 else ""
    text = f"`{names[0]}` and `{names[1]}` overlap{deep} at the start{worlds} (shapes {shapes})"
    hint = f"move them apart, or, if they belong together, write contact: {{exclude: [[{names[0]}, {names[1]}]]}}"
    place = document.where("bodies.{}.shapes.{}".format(*sides[1]))
    if not is_affine:
        return Fault("SC485", text, place, hint, "warning")
    return Fault("SC631", text, place, hint, "error" if one.n_worlds == model.n_worlds else "warning")


def _owner(model, s: int) -> tuple[str, str]:
    """Body of a shape, and its key there."""
    body = int(model.shapes.body[s])
    owner = WORLD_NAME if body < 0 else model.bodies.name[body]
    return owner, model.shapes.name[s].removeprefix(f"{owner}/")


def idle_faults(document, spec, model) -> list[Fault]:
    """A warning of shapes that can touch nothing, where the scene asks for contact."""
    idle = idle_shapes(model)
    if not idle or not spec.contact.enabled or not _asks(document, spec, {_owner(model, s) for s in idle}):
        return []
    owner, key = _owner(model, idle[0])
    place = document.where(f"world.shapes.{key}" if owner == WORLD_NAME else f"bodies.{owner}.shapes.{key}")
    text = f"{first_few([f'`{model.shapes.name[s]}`' for s in idle], _SHOWN)} cannot touch anything"
    hint = "look at joints, `layers` and `contact.exclude`, or write collide: false"
    return [Fault("SC486", text, place, hint, "warning")]


def _asks(document, spec, idle: set[tuple[str, str]]) -> bool:
    """Whether a scene asks for contact: by a section, a shape of the world, or `collide: true` of one that is idle."""
    if spec.world.shapes or any(find(document.expanded, steps) for steps in (("contact",), ("solver", "contact"))):
        return True
    return any("collide" in spec.bodies[owner].shapes[key].model_fields_set for owner, key in idle)
