"""Which joints and forces of a scene no polynomials state: what lies beside the axis of a bar of one vector.

The attitude of such a bar is one vector, of which points beside its axis are no affine forms (forms/polynomials.py). Refused
by name, for steps that have no other way than polynomials.
"""

from dataclasses import replace

from simcli.model.constraints.build import constraints_of
from simcli.model.constraints.constraint_tables import Constraints, Form
from simcli.model.forces.spring import segments_of
from simcli.model.forms.frame_pairs import is_turning
from simcli.model.forms.natural_form import natural_form
from simcli.model.forms.polynomials import Forms
from simcli.model.joints.state import State
from simcli.model.joints.tree_kinematics import link_points
from simcli.model.tables.model import WORLD, Model
from simcli.model.tables.worlds import Worlds

_INSTEAD = "use zhong06, or leave `natural` of body `{}` out"


def refuse_beside(worlds: Worlds, model: Model) -> None:
    """Refuse what generalized_alpha cannot state.

    Args:
        worlds: receives the faults.
        model: of the scene.
    """
    form = replace(natural_form(model, State.of(model)), spring_rows=True)
    forms, constraints = Forms(form), constraints_of(form)
    anchor_pairs = constraints.anchor_pairs
    for p in range(len(anchor_pairs.joint)):
        for link, place in ((anchor_pairs.link_a[p], anchor_pairs.point_a), (anchor_pairs.link_b[p], anchor_pairs.point_b)):
            if forms.point(int(link), place[:, p]) is None:
                _refuse(worlds, form, anchor_pairs, p, int(link), "an anchor beside the axis of bar")
        for r in range(anchor_pairs.row_start[p], anchor_pairs.row_start[p + 1]):
            link = _link_across(forms, constraints, p, r)
            if link is not None:
                _refuse(worlds, form, anchor_pairs, p, link, "a direction across the axis of bar")
    places = link_points(form.links, form.wrenches.body, form.wrenches.point)
    for k, body in enumerate(form.wrenches.body.tolist()):
        if forms.point(int(form.links.tip[body]), places[:, k]) is None:
            _fault(worlds, f"forces.{form.wrenches.name[k]}", "a wrench beside the axis of", form.bodies.name[body])
    _refuse_frames(worlds, forms)


def _refuse_frames(worlds: Worlds, forms: Forms) -> None:
    """Refuse bushings and cables of bars, whose attitude they see, and drags on their turning or beside their axis."""
    form = forms.model
    joints, bushings, drags = form.joints, form.bushings, form.drags
    held = [
        (f"forces.{name}", "a bushing on", body)
        for name, ends in zip(bushings.name, bushings.body.tolist(), strict=True)
        for body in ends
    ]
    held += [
        (f"joints.{form.cables.name[k]}", "a cable on", int(ends[j]))
        for k, j in enumerate(form.cables.joint.tolist())
        for ends in (joints.parent, joints.child)
    ]
    places = link_points(form.links, drags.body, drags.point)
    for k, body in enumerate(drags.body.tolist()):
        if is_turning(form.drags, k):
            held.append((f"forces.{drags.name[k]}", "a drag on the turning of", body))
        if forms.point(int(form.links.tip[body]), places[:, k]) is None:
            _fault(worlds, f"forces.{drags.name[k]}", "a drag beside the axis of", form.bodies.name[body])
    for path, words, body in held:
        if body != WORLD and None in forms.axes(int(form.links.tip[body])):
            _fault(worlds, path, words, form.bodies.name[body])


def _fault(worlds: Worlds, path: str, words: str, bar: str) -> None:
    worlds.fault("SC501", path, f"generalized_alpha does not support {words} bar `{bar}`", _INSTEAD.format(bar))


def _link_across(forms: Forms, constraints: Constraints, p: int, r: int) -> int | None:
    """The link of pair p that has no affine form of a direction of row r; None if both have."""
    rows, anchor_pairs = constraints.rows, constraints.anchor_pairs
    a, b = int(anchor_pairs.link_a[p]), int(anchor_pairs.link_b[p])
    asked = {
        Form.ALONG: [(a, rows.on_a)],
        Form.DOT: [(a, rows.on_a), (b, rows.on_b)],
        Form.TURN: [(a, rows.on_a), (a, rows.across_a), (b, rows.on_b)],
    }.get(Form(int(rows.form[r])), [])
    return next((link for link, d in asked if forms.direction(link, d[:, r]) is None), None)


def _refuse(worlds: Worlds, form: Model, anchor_pairs, p: int, link: int, words: str) -> None:
    """The fault of one end of a pair of anchors, at its joint or spring."""
    body = form.bodies.name[form.links.body[link]]
    j = int(anchor_pairs.joint[p])
    at = [k for k, joint in enumerate(anchor_pairs.joint.tolist()) if joint < 0]
    spring = segments_of(form.springs).spring
    path = f"joints.{form.joints.name[j]}" if j >= 0 else f"forces.{form.springs.name[spring[at.index(p)]]}"
    message = f"generalized_alpha does not support {words} `{body}`"
    if all(fault.where.path != path or fault.message != message for fault in worlds.faults):
        worlds.fault("SC501", path, message, _INSTEAD.format(body))
