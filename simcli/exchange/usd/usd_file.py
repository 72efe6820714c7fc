"""A USD file as a mechanism: bodies with their masses, what does not move, gravity, articulation roots, what does not touch.

A body is a prim with RigidBodyAPI; all geometry below it is part of it, up to the next body. What has no body is the world.
Mass, centre of mass and inertia are those of MassAPI; what that does not say follows from the colliders: each weighs its own
mass, or its volume times the density of itself, of its body, of its material, or 1000 kg/m^3.

Source: OpenUSD, UsdPhysics: RigidBodyAPI (and its ComputeMassProperties), MassAPI, Scene, FilteredPairsAPI, CollisionGroup.
Deviation: a body without a mass and colliders has none, and is a point of what holds it.
"""

import math
from pathlib import Path

import numpy as np

from simcli import rotations as rot
from simcli.exchange.source.import_report import ImportReport
from simcli.exchange.source.mechanism import GivenNames, SourceLink, SourceModel, words_of_renaming
from simcli.exchange.source.meshes import MeshFiles
from simcli.exchange.usd.prims import UsdSource, is_below, tidy_numbers
from simcli.exchange.usd.stage_files import open_stage, usd_as_guest
from simcli.exchange.usd.usd_joints import USD_JOINTS, read_joints, span_tree, start_joints
from simcli.exchange.usd.usd_shapes import GPRIMS, UsdCollider, add_gprim, physics_material, read_materials
from simcli.model.bodies.inertia import MassProperties, combine, shift_inertia
from simcli.spec.lookup.structure import WORLD_NAME

_WATER = 1000.0  # [kg/m^3], density where a file gives none
_EARTH = 9.81  # [m/s^2], gravity where a file gives none
_SMALL = 0.1  # [m], radius of the ball whose inertia a mass without colliders has, as OpenUSD has it


def read_usd(path: Path, meshes: MeshFiles, report: ImportReport) -> SourceModel:
    """A file as a mechanism.

    Args:
        path: of the file.
        meshes: takes the meshes that it holds.
        report: receives a line for each prim and property.

    Raises:
        UsageError: usd-core is not installed.
        FileError: the file cannot be read, or says what no scene can say.
    """
    with usd_as_guest(path):
        stage = open_stage(path, meshes)
        default = stage.GetDefaultPrim()
        name = default.GetName() if default else path.stem
        mechanism = SourceModel(name, links={WORLD_NAME: SourceLink(WORLD_NAME, 0)})
        source = UsdSource(path, stage, meshes, report, mechanism)
        _read_metrics(source)
        _read_gravity(source)
        read_materials(source)
        _find_bodies(source)
        colliders = _read_shapes(source)
        for prim_path, name in source.links.items():
            _weigh(source, source.prims[prim_path], mechanism.links[name], colliders[name])
        roots, rooted = _read_roots(source)
        read_joints(source, rooted)
        span_tree(source, roots)
        start_joints(source)
        _read_states(source)
        _part(source)
        source.tell_unread()
    return mechanism


def _read_metrics(source: UsdSource) -> None:
    """Units and the axis that is up, which the root layer says."""
    from pxr import UsdGeom

    stage = source.stage
    changes = [] if UsdGeom.StageHasAuthoredMetersPerUnit(stage) else ["says no `metersPerUnit`: 0.01, as the format has it"]
    changes += [] if source.length == 1.0 else [f"lengths are in {source.length:g} m"]
    changes += [] if source.mass == 1.0 else [f"masses are in {source.mass:g} kg"]
    changes += [] if np.array_equal(source.turn, np.eye(3)) else ["y is up: the scene is turned so that z is"]
    source.report.kept("stage", source.path.name, 0, "; ".join(changes))


def _read_gravity(source: UsdSource) -> None:
    scenes = [prim for prim in source.prims.values() if str(prim.GetTypeName()) == "PhysicsScene"]
    down, size, change = -source.turn.T[:, 2], -math.inf, ""
    for prim in scenes[1:]:
        source.lose_all(prim, "only the first scene of physics is read")
    if scenes:
        written = np.array(source.numbers(scenes[0], "physics:gravityDirection", 3, (0.0, 0.0, 0.0)))
        down = written / np.linalg.norm(written) if written.any() else down
        size = source.number(scenes[0], "physics:gravityMagnitude", -math.inf, is_bound=True)
        change = "" if size >= 0.0 else f"has no magnitude of gravity: {_EARTH} m/s^2, as the format has it"
        source.keep("scene", scenes[0], str(scenes[0].GetPath()), change)
    size = size * source.length if size >= 0.0 else _EARTH
    source.mechanism.world_words["gravity"] = list(tidy_numbers(source.turn @ down * size, max(size, 1.0)))


def _find_bodies(source: UsdSource) -> None:
    """Which prims are bodies, and which prims are part of which."""
    from pxr import UsdPhysics

    for path, prim in source.prims.items():
        above = path.rpartition("/")[0]
        if not prim.HasAPI(UsdPhysics.RigidBodyAPI):
            if above in source.owner:
                source.owner[path] = source.owner[above]
        elif source.flag(prim, "physics:rigidBodyEnabled", True):
            source.owner[path] = path
            _body(source, path, prim)
        else:
            source.keep("link", prim, path, "is not enabled: it is part of the world")


def _body(source: UsdSource, path: str, prim) -> None:
    name = source.link_names.give(prim.GetName(), "link")
    source.links[path] = name
    link = source.mechanism.links[name] = SourceLink(name, 0, frame=source.world_frame(path), file=path)
    change = [words_of_renaming(prim.GetName(), name)]
    if source.flag(prim, "physics:kinematicEnabled", False):
        link.words["kinematic"] = True
        change.append("is moved by programs: kinematic, and at rest until a motion is written")
    place = source.place(prim)
    if place.is_sheared or place.scale[0] < 0.0:
        change.append("its axes are sheared or mirrored: it has the nearest ones at right angles")
    source.note(prim, "xformOpOrder", *(name for name in prim.GetAuthoredPropertyNames() if name.startswith("xformOp")))
    source.keep("link", prim, name, "; ".join(filter(None, change)))


def _read_shapes(source: UsdSource) -> dict[str, list[UsdCollider]]:
    """Give all links their shapes; what collides, by name of the link."""
    from pxr import UsdPhysics

    links = source.mechanism.links
    names = {name: GivenNames(()) for name in links}
    found: dict[str, list[UsdCollider]] = {name: [] for name in links}
    for path, prim in source.prims.items():
        source.note(prim, *(name for name in prim.GetAuthoredPropertyNames() if name.startswith("xformOp")))
        if not prim.IsActive() or path in source.links:
            is_shape = path in source.links and str(prim.GetTypeName()) in GPRIMS
        else:
            is_shape = str(prim.GetTypeName()) in GPRIMS
            if not is_shape and prim.HasAPI(UsdPhysics.CollisionAPI):
                source.lose_all(prim, f"a collider of type `{prim.GetTypeName()}`, of which no shape is known")
        if is_shape:
            owner = source.owner.get(path)
            name = WORLD_NAME if owner is None else source.links[owner]
            collider = add_gprim(source, prim, links[name], names[name])
            found[name] += [collider] if collider is not None else []
    return found


# Masses.


def _weigh(source: UsdSource, prim, link: SourceLink, colliders: list[UsdCollider]) -> None:
    """Mass, centre of mass and inertia of a body."""
    mass, density = (max(source.number(prim, f"physics:{key}"), 0.0) for key in ("mass", "density"))
    place, changes = source.place(prim), []
    com, own = _own_inertia(source, prim)
    if com is not None:
        com = com * place.scale * source.length
    parts = [part for one in colliders if (part := _part_of(source, one, density)) is not None]
    total = combine(parts) if parts and sum(float(part.mass) for part in parts) > 0.0 else None
    if mass:
        link.mass = mass * source.mass
    elif total is not None:
        link.mass = float(total.mass)
        changes.append("its mass is that of its colliders")
    else:
        source.report.kept(
            "inertial", link.name, 0, "says no mass, and has no colliders that have one: it has none", link.file
        )
        return
    centre = com if com is not None else total.com if total is not None else np.zeros(3)
    link.com = tidy_numbers(centre, 1.0)
    if own is not None:
        link.inertia = own * source.mass * source.length**2
    elif total is not None:
        scaled = total.scaled(np.asarray(link.mass / float(total.mass)))
        link.inertia = shift_inertia(scaled.inertia, scaled.mass, scaled.com - centre)
        changes.append("its inertia is that of its colliders")
    else:
        link.inertia = 0.4 * link.mass * _SMALL**2 * np.eye(3)
        changes.append(f"says no inertia, and has no colliders: that of a ball of radius {_SMALL} m, as OpenUSD has it")
    link.inertia = _tidy_inertia(link.inertia)
    source.report.kept("inertial", link.name, 0, "; ".join(changes), link.file)


def _tidy_inertia(inertia: np.ndarray) -> np.ndarray:
    size = float(np.abs(inertia).max(initial=0.0))
    return np.reshape(tidy_numbers(0.5 * (inertia + inertia.T).ravel(), 0.1 * size), (3, 3))


def _own_inertia(source: UsdSource, prim) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Centre of mass [units] and inertia [mass units^2], (3, 3) about it, that a prim writes itself; None for none."""
    written = source.value(prim, "physics:centerOfMass")
    com = None
    if written is not None and all(map(math.isfinite, written)):  # no centre is written as minus infinity
        com = np.array(source.numbers(prim, "physics:centerOfMass", 3, ()))
    moments = np.array(source.numbers(prim, "physics:diagonalInertia", 3, (0.0, 0.0, 0.0)))
    w, *xyz = source.numbers(prim, "physics:principalAxes", 4, (0.0, 0.0, 0.0, 0.0))
    if not moments.any():
        return com, None
    quaternion = np.array([*xyz, w]) if any((w, *xyz)) else np.array([0.0, 0.0, 0.0, 1.0])
    turn = rot.quat_to_matrix(quaternion / np.linalg.norm(quaternion))
    return com, turn @ np.diag(moments) @ turn.T


def _part_of(source: UsdSource, one: UsdCollider, density: float) -> MassProperties | None:
    """Mass properties of a collider, in its body; None if it has no volume and no mass."""
    prim, volume = one.prim, one.form.volume
    mass, own = (max(source.number(prim, f"physics:{key}"), 0.0) for key in ("mass", "density"))
    com, inertia = _own_inertia(source, prim)
    if volume is None or not float(volume.mass) > 0.0:
        return None
    bound = physics_material(prim)
    of_material = source.number(bound, "physics:density") if bound is not None else 0.0
    per = source.mass / source.length**3
    chosen = next((value * per for value in (own, density, of_material) if value > 0.0), _WATER)
    found = volume.scaled(np.asarray(mass * source.mass / float(volume.mass) if mass else chosen))
    frame = one.frame
    if str(prim.GetPath()) not in source.links and (com is not None or inertia is not None):
        place = source.place(prim)
        at = found.com if com is None else one.form.turn.T @ ((com * place.scale - one.form.centre) * source.length)
        back = one.form.turn
        own_inertia = found.inertia if inertia is None else back.T @ inertia @ back * source.mass * source.length**2
        if inertia is None:
            own_inertia = shift_inertia(found.inertia, found.mass, found.com - at)
        found = MassProperties(found.mass, at, own_inertia)
    return found.placed(rot.make_pose(np.asarray(frame.xyz, float), frame.quaternion))


# Roots, velocities, pairs.


def _read_roots(source: UsdSource) -> tuple[list[str], set[str]]:
    """Names of the links that are roots of articulations; paths of all bodies that are below a root, or joined to one."""
    from pxr import UsdPhysics

    roots, rooted, has_root = [], set(), False
    for path, prim in source.prims.items():
        if not prim.HasAPI(UsdPhysics.ArticulationRootAPI):
            continue
        has_root = True
        if path in source.links:
            roots.append(source.links[path])
        begin = [str(target) for target in _bodies_of(source, prim)] if str(prim.GetTypeName()) in USD_JOINTS else [path]
        rooted |= {owner for other, owner in source.owner.items() if any(is_below(other, one) for one in begin)}
        source.report.kept("articulation", path, 0, "", path)
    if not has_root:
        return roots, set()
    edges = [_bodies_of(source, prim) for prim in source.prims.values() if _is_of_articulation(source, prim)]
    grown = True
    while grown:
        more = {body for edge in edges if rooted & set(edge) for body in edge} - rooted
        rooted |= more
        grown = bool(more)
    return roots, rooted


def _is_of_articulation(source: UsdSource, prim) -> bool:
    """Whether a prim is a joint that connects the bodies of an articulation."""
    if str(prim.GetTypeName()) not in USD_JOINTS or not source.flag(prim, "physics:jointEnabled", True):
        return False
    return not source.flag(prim, "physics:excludeFromArticulation", False)


def _bodies_of(source: UsdSource, joint) -> list[str]:
    """Paths of the bodies that a joint holds."""
    named = (path for key in ("physics:body0", "physics:body1") for path in source.targets(joint, key)[:1])
    return [source.owner[path] for path in named if path in source.owner]


def _read_states(source: UsdSource) -> None:
    """Velocities of free bodies."""
    for path, name in source.links.items():
        prim, link = source.prims[path], source.mechanism.links[name]
        turn = source.turn @ source.place(prim).turn
        written = {
            "linear": np.array(source.numbers(prim, "physics:velocity", 3, (0.0,) * 3)) * source.length,
            "angular": np.radians(source.numbers(prim, "physics:angularVelocity", 3, (0.0,) * 3)),
        }
        found = {key: list(tidy_numbers(turn @ value, 1.0)) for key, value in written.items() if value.any()}
        if found and source.mechanism.holder(name) is None and not link.words.get("kinematic"):
            link.words["velocity"] = found
        elif found:
            for key in ("velocity", "angularVelocity"):
                if prim.HasAttribute(f"physics:{key}"):
                    source.lose_property(
                        prim, f"physics:{key}", "a joint or a program says how the body moves: it is at rest"
                    )


def _part(source: UsdSource) -> None:
    """Which pairs do not touch, by FilteredPairsAPI, groups and joints to what stands still; which do despite a joint."""
    pairs: list[tuple[str, str]] = []
    for path, prim in source.prims.items():
        for other in source.targets(prim, "physics:filteredPairs") if prim.HasRelationship("physics:filteredPairs") else ():
            pairs.append((path, other))
    pairs += _grouped(source)
    touching = []
    for path, name in source.joints.items():
        prim, joint = source.prims[path], source.mechanism.joints[name]
        targets = [one for key in ("physics:body0", "physics:body1") for one in source.targets(prim, key)[:1]]
        if source.flag(prim, "physics:collisionEnabled", False):
            touching += [{"a": joint.parent, "b": joint.child}] if WORLD_NAME not in (joint.parent, joint.child) else []
        elif len(targets) == 2 and WORLD_NAME in (joint.parent, joint.child):
            pairs.append((targets[0], targets[1]))
    names = [(a, b) for one, other in pairs for a in _solids(source, one) for b in _solids(source, other) if a != b]
    exclude = list(dict.fromkeys(tuple(sorted(pair)) for pair in names))
    contact: dict[str, list] = {"exclude": [list(pair) for pair in exclude]} if exclude else {}
    contact |= {"pairs": touching} if touching else {}
    if contact:
        source.mechanism.sections["contact"] = contact


def _solids(source: UsdSource, path: str) -> list[str]:
    """What collides at and below a prim, as scenes name it: a body, a shape of one, or a shape of the world."""
    if path in source.links:
        return [source.links[path]]
    below = [other for other in source.prims if is_below(other, path)]
    bodies = [source.links[one] for one in below if one in source.links]
    loose = [source.shapes[one] for one in below if one in source.shapes and source.owner.get(one) not in below]
    return bodies + [name if link == WORLD_NAME else f"{link}/{name}" for link, name in loose]


def _grouped(source: UsdSource) -> list[tuple[str, str]]:
    """Colliders of groups that do not touch."""
    from pxr import UsdPhysics

    groups = [prim for prim in source.prims.values() if str(prim.GetTypeName()) == "PhysicsCollisionGroup"]
    if not groups:
        return []
    table = UsdPhysics.CollisionGroup.ComputeCollisionGroupTable(source.stage)
    held = []
    for prim in groups:
        query = UsdPhysics.CollisionGroup(prim).GetCollidersCollectionAPI().ComputeMembershipQuery()
        held.append([path for path in source.shapes if query.IsPathIncluded(path)])
        source.note(prim, *prim.GetAuthoredPropertyNames())
        source.keep("group", prim, str(prim.GetPath()))
    return [
        (one, other)
        for k, first in enumerate(groups)
        for n, second in enumerate(groups[: k + 1])
        if not table.IsCollisionEnabled(first.GetPath(), second.GetPath())
        for one in held[k]
        for other in held[n]
        if one != other
    ]
