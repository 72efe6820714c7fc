"""Links without mass, and moments of inertia that no body has.

A link that a fixed joint holds is a point of its parent, with its shapes, and what hangs on it hangs on the parent. The root
of a fixed base is part of the world, that of a floating base a point of the child that a fixed joint holds. Where nothing
beyond a joint has mass, the joint is held where it is, because no force says how it moves. All others are bodies of mass 0.
Moments of inertia that no body has are reported with their numbers, and repaired on request.
"""

import numpy as np

from simcli.exchange.source.import_report import ImportReport
from simcli.exchange.source.mechanism import SourceFrame, SourceJoint, SourceLink, SourceModel, in_outer_axes
from simcli.spec.checks.physics import TRIANGLE, VANISHING
from simcli.spec.lookup.structure import WORLD_NAME


def fault_of(link: SourceLink) -> str:
    """What is wrong with the mass or the inertia of a link; "" if nothing is."""
    if link.mass is not None and not np.isfinite(link.mass):
        return f"the mass is {link.mass:g}"
    if link.mass is not None and link.mass < 0.0:
        return f"the mass is negative: {link.mass:g} kg"
    if link.inertia is None or not link.has_mass:
        return ""
    if not np.isfinite(link.inertia).all():
        return "the inertia is no number"
    low, middle, high = np.linalg.eigvalsh(link.inertia)
    if low < -VANISHING * max(high, 0.0) or high < 0.0:
        return f"a principal moment is negative: {low:.4g} kg m^2"
    if low + middle < high * (1.0 - TRIANGLE):
        return f"no body has these principal moments: {low:.4g} + {middle:.4g} < {high:.4g} kg m^2"
    return ""


def mend(link: SourceLink) -> str:
    """Replace moments that no body has by near ones; what was done.

    Negative moments become 0. The largest is lowered to the sum of the others where it is larger; where that is 0, because
    one moment alone was given, all three become its half and more: the sphere of the same trace.
    """
    if link.mass is None or link.mass < 0.0 or not np.isfinite(link.mass) or not np.isfinite(link.inertia).all():
        return ""
    moments, axes = np.linalg.eigh(link.inertia)
    before = ", ".join(f"{moment:.4g}" for moment in moments)
    moments = np.maximum(moments, 0.0)
    low, middle, high = moments
    if low + middle <= 0.0:
        moments[:] = high / 3.0
    elif high > low + middle:
        moments[2] = low + middle
    link.inertia = axes @ np.diag(moments) @ axes.T
    link.inertia = 0.5 * (link.inertia + link.inertia.T)
    after = ", ".join(f"{moment:.4g}" for moment in moments)
    return f"principal moments {before} kg m^2 became {after}"


_PARTS = ("axis", "dynamics", "initial_position", "limit", "mimic")  # elements of joints that move
_LUMPED = "has no mass: it is the point `{point}` of `{link}`"


def lump(mechanism: SourceModel, report: ImportReport) -> None:
    """Give every link without mass a place in a scene."""
    _hold_what_has_no_mass(mechanism, report)
    for name in [name for name in mechanism.links if name != WORLD_NAME]:
        link = mechanism.links[name]
        holder = mechanism.holder(name)
        if link.has_mass:
            continue
        if holder is not None and holder.type == "fixed":
            _join_parent(mechanism, link, holder, report)
        elif holder is None and (child := _fixed_child(mechanism, name)) is not None:
            _join_child(mechanism, link, child, report)
        else:
            link.mass = 0.0
            if _turns_heavily(link):
                report.withdraw(("inertial",), name, "has inertia, but no mass: moving bodies have both or none")
            report.amend("link", name, link.line, "has no mass: it moves with bodies attached to it, as a body of mass 0")


def _hold_what_has_no_mass(mechanism: SourceModel, report: ImportReport) -> None:
    """Make the joints fixed beyond which nothing has mass."""
    for joint in mechanism.joints.values():
        if joint.type != "fixed" and not _has_mass_beyond(mechanism, joint.child):
            joint.type, joint.axis, joint.words = "fixed", None, {}
            mechanism.forces = {name: one for name, one in mechanism.forces.items() if one.words.get("joint") != joint.name}
            why = "nothing beyond it has mass, so that no force says how it moves"
            report.withdraw(_PARTS, joint.name, "its joint is held: nothing beyond it has mass")
            report.withdraw(("joint",), joint.name, why)


def _has_mass_beyond(mechanism: SourceModel, name: str, seen: frozenset[str] = frozenset()) -> bool:
    link = mechanism.links[name]
    if link.has_mass:
        return True
    below = (joint.child for joint in mechanism.joints_of(name) if joint.child not in seen)
    return any(_has_mass_beyond(mechanism, child, seen | {name}) for child in below)


def _turns_heavily(link: SourceLink) -> bool:
    """Whether a link without mass has inertia."""
    return link.inertia is not None and bool(link.inertia.any())


def _fixed_child(mechanism: SourceModel, name: str) -> SourceJoint | None:
    """A fixed joint to a link with mass."""
    return next(
        (joint for joint in mechanism.joints_of(name) if joint.type == "fixed" and mechanism.links[joint.child].has_mass),
        None,
    )


def _join_parent(mechanism: SourceModel, link: SourceLink, joint: SourceJoint, report: ImportReport) -> None:
    # Of the link in its parent: anchors coincide.
    place = joint.child_frame.inverse().after(joint.parent_frame)
    _move(mechanism, link, mechanism.links[joint.parent], place)
    del mechanism.joints[joint.name]
    where = "fixed to the world" if joint.parent == WORLD_NAME else _LUMPED.format(point=link.name, link=joint.parent)
    report.amend("link", link.name, link.line, f"has no mass: it is {where}" if joint.parent == WORLD_NAME else where)
    if joint.line:  # else it is not of the source
        report.amend("joint", joint.name, joint.line, f"holds `{link.name}`, which is part of `{joint.parent}`")


def _join_child(mechanism: SourceModel, link: SourceLink, joint: SourceJoint, report: ImportReport) -> None:
    place = joint.parent_frame.inverse().after(joint.child_frame)  # of the link in its child
    child = mechanism.links[joint.child]
    del mechanism.joints[joint.name]
    child.frame = joint.child_frame.inverse().after(joint.parent_frame).after(link.frame)
    _move(mechanism, link, child, place)
    report.amend("link", link.name, link.line, _LUMPED.format(point=link.name, link=child.name))
    report.amend("joint", joint.name, joint.line, f"holds `{link.name}`, which is part of `{child.name}`")


def _move(mechanism: SourceModel, link: SourceLink, target: SourceLink, place: SourceFrame) -> None:
    """Hand shapes, points, joints, and inertia without mass of a link to another one, in which it has a place."""
    if _turns_heavily(link) and target.inertia is not None:
        target.inertia = target.inertia + in_outer_axes(link.inertia, place)
    taken = {shape.name for shape in target.shapes}
    for shape in link.shapes:
        shape.frame = shape.frame.after(place)
        shape.name = shape.name if shape.name not in taken else f"{link.name}_{shape.name}"
        target.shapes.append(shape)
        taken.add(shape.name)
    for name, at in link.points.items():
        target.points[name] = SourceFrame(at).after(place).xyz
    target.frames |= {name: frame.after(place) for name, frame in link.frames.items()}
    target.points.setdefault(link.name, place.xyz)
    for joint in mechanism.joints.values():
        if joint.parent == link.name:
            joint.parent, joint.parent_frame = target.name, joint.parent_frame.after(place)
        if joint.child == link.name:
            joint.child, joint.child_frame = target.name, joint.child_frame.after(place)
    del mechanism.links[link.name]
