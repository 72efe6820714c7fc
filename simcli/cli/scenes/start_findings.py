"""What `simcli check` and `simcli show` say of where a run begins: places, damping, overlaps, idle shapes."""

from math import isnan

from simcli.errors import Fault, SceneError, first_few
from simcli.model.bodies.contact_pairs import idle_shapes
from simcli.model.bodies.overlaps import find_cuts, find_overlaps
from simcli.model.closure.begin import FORK_HINT, move_text
from simcli.model.constraints.gimbals import ADVICE, locks_at_start
from simcli.model.constraints.stiff_damping import stiff_text
from simcli.model.joints.anchors import placeless_text
from simcli.spec.base.nodes import find
from simcli.spec.lookup.structure import WORLD_NAME


def start_faults(document, spec, model) -> list[Fault]:
    """What is to be said of where a run begins; `model` is that of world 0."""
    return [
        *_placeless(model, spec, document),
        *_moved(model, document),
        *_stiff(model, spec, document),
        *_locked(model, spec, document),
        *overlap_faults(document, spec, model),
        *idle_faults(document, spec, model),
    ]


def _moved(model, document) -> list[Fault]:
    """Warnings of written coordinates that moved, and of loops whose branch nothing chooses."""
    names = model.joints.name
    moved = [
        Fault(
            "SC616",
            move_text(model.n_worlds, model.joints, one),
            document.where(f"joints.{names[one.joint]}.q"),
            one.hint,
            "warning",
        )
        for one in model.start.moves
        if one.is_written
    ]
    return moved + [
        Fault("SC621", one.text, document.where(f"joints.{names[one.joint]}"), FORK_HINT, "warning")
        for one in model.start.forks
    ]


def _stiff(model, spec, document) -> list[Fault]:
    """A warning of damping that the steps of the run cannot follow."""
    text, hint = stiff_text(model, spec.solver)
    return [Fault("SC620", text, document.where("solver.dt"), hint, "warning")] if text else []


def _placeless(model, spec, document) -> list[Fault]:
    """A note, one for all, on hinges whose place is not written."""
    name, text, hint = placeless_text(spec, model.bodies)
    return [Fault("SC328", text, document.where(f"joints.{name}", on_key=True), hint, "note")] if name else []


def _locked(model, spec, document) -> list[Fault]:
    """Warnings of joints that begin at gimbal lock."""
    model = batch_of(document, spec, model)
    return [
        Fault("SC640", lock.text(model.n_worlds), document.where(f"joints.{lock.joint}"), ADVICE, "warning")
        for lock in locks_at_start(model, spec.solver)
    ]


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
