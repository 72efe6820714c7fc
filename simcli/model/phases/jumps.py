"""Events at which a prescribed position would jump: refused, since each solver would make another motion of it."""

import numpy as np

from simcli.errors import Fault, SceneError
from simcli.model.signals.prescribed import SAME_START, prescribed
from simcli.model.signals.tables import MotionKind
from simcli.model.tables import Model
from simcli.spec.document.nodes import locate
from simcli.spec.document.scene_file import Document

HINT = "let it move in a finite time: by a `ramp`, or a `table` with `interpolate: cubic`"


def refuse_jump(document: Document, index: int, t: float, before: Model, after: Model) -> None:
    """Refuse an event that moves what a motion prescribes.

    Args:
        document: the scene as written.
        index: of the event.
        t: [s], of the event.
        before: the model before it.
        after: the model from it on.

    Raises:
        SceneError: SC478.
    """
    text = jump_between(t, before, after)
    if text:
        error = SceneError([Fault("SC478", text, locate(document.expanded, ["events", index, "set"], on_key=True), HINT)])
        error.document = document
        raise error


def jump_between(t: float, before: Model, after: Model) -> str:
    """The prescribed position that differs most between two models at a time [s], in words; "" if none does."""
    by_position = after.motions.kind == MotionKind.POSITION
    if not by_position.any():
        return ""
    old, new = np.broadcast_arrays(*(prescribed(model, t)[..., 0] for model in (before, after)))
    gap = np.where(by_position, np.abs(new - old), 0.0)
    if gap.max() <= SAME_START:
        return ""
    world, d = np.unravel_index(gap.argmax(), gap.shape)
    name = after.joints.name[after.dofs.joint[d]]
    ends = f"from {old[world, d]:.6g} to {new[world, d]:.6g} at {t:g} s"
    return f"the prescribed position of joint `{name}` jumps {ends}" + (f" (world {world})" if after.n_worlds > 1 else "")
