"""An MJCF file as a mechanism: the order in which its parts are made, and its keyframes."""

from pathlib import Path

import numpy as np

from simcli.exchange.mjcf.acts import Acts, Tendons
from simcli.exchange.mjcf.actuators import Actuators
from simcli.exchange.mjcf.bodies import MjcfBodies, frame_of
from simcli.exchange.mjcf.element_report import Fates, report_elements
from simcli.exchange.mjcf.equalities import Equalities, follow_starts, followers
from simcli.exchange.mjcf.options import BALL, FREE, JointPlace, read_options
from simcli.exchange.mjcf.sensors import MjcfSensors
from simcli.exchange.mjcf.shapes import MjcfShapes
from simcli.exchange.mjcf.source import MjcfSource, compile_mjcf, compiler_word
from simcli.exchange.mjcf.touching import Touching, colliding_geoms, touching_geoms
from simcli.exchange.source.beginning import limit_holds, set_starts
from simcli.exchange.source.import_report import ImportReport
from simcli.exchange.source.mechanism import GivenNames, SourceModel, clean_numbers, lost_looks
from simcli.exchange.source.meshes import MeshFiles
from simcli.exchange.source.xml_reader import XmlElement
from simcli.spec.base.nodes import parse_path

_WIDTHS = {FREE: (7, 6), BALL: (4, 3)}  # coordinates and rates of joints that have more than one
_SINGLE = (1, 1)


class MjcfKeyframes:
    """States of a scene as they are made.

    Args:
        acts: joints, made.
    """

    def __init__(self, acts: Acts):
        self.acts, self.bodies, self.source, self.model = acts, acts.bodies, acts.source, acts.model

    def read(self) -> None:
        """Make all of them; keys that MuJoCo makes of itself are left out."""
        names, found = GivenNames(()), {}
        for k in range(self.model.nkey):
            if ("key", k) not in self.source.elements:
                continue
            name = self.bodies.give(names, "key", k, "key")
            controls = self._controls(k)
            found[name] = self._state(k) | ({"controls": controls} if controls else {})
        if found:
            self.acts.mechanism.sections["keyframes"] = found

    def _controls(self, k: int) -> dict[str, float]:
        """Targets and activations of drives, where they are not those that the scene writes."""
        model, found, lost, moving = self.model, {}, [], []
        for a in range(model.nactuator):
            first, place = int(model.actuator_ctrladr[a]), self.acts.controls.get(a)
            controls = model.key_ctrl[k, first : first + int(model.actuator_ctrlnum[a])]
            n_states = int(model.actuator_actnum[a])
            at = int(model.actuator_actadr[a]) if n_states else 0
            states = model.key_act[k, at : at + n_states]
            if place is None or not place.path:
                lost += [self.source.name("actuator", a) or f"actuator {a}"] if controls.any() or states.any() else []
                continue
            ranges = [self.acts.control_range(a, n) or (-np.inf, np.inf) for n in range(len(controls))]
            asked = [float(np.clip(one, *bounds)) for one, bounds in zip(controls, ranges, strict=True)]
            drive = self._words(place.path)
            if model.actuator_dyntype[a] == self.source.mujoco.mjtDyn.mjDYN_INTEGRATOR and n_states == 1:
                moving += [self.source.name("actuator", a) or f"actuator {a}"] if any(asked) else []
                asked, states = [float(states[0])], states[:0]  # the activation is what the drive aims at
            settings = place.settings(*asked).items()
            found |= {f"{place.path}.{key}": value for key, value in settings if value != drive[key]}
            for other in self.acts.beside.get(a, ()):
                more, words = other.settings(*asked).items(), self._words(other.path)
                found |= {f"{other.path}.{key}": value for key, value in more if value != words[key]}
            if n_states == 1 and "activation" in drive:
                initial = place.target(float(states[0]))
                if initial != drive["activation"].get("initial", 0.0):
                    found[f"{place.path}.activation.initial"] = initial
            elif states.any():
                lost.append(f"the activation of {self.source.name('actuator', a) or f'actuator {a}'}")
        if moving:
            self.acts.note("key", k, f"without the controls that move targets: {', '.join(moving)}")
        if lost:
            self.acts.note("key", k, f"without the controls of what is dropped: {', '.join(lost)}")
        return found

    def _words(self, path: str) -> dict:
        """The words of a drive or a force."""
        mechanism, (head, name, *keys) = self.acts.mechanism, parse_path(path)
        words = mechanism.joints[name].words if head == "joints" else mechanism.forces[name].words
        for key in keys:
            words = words[key]
        return words

    def _state(self, k: int) -> dict:
        """Coordinates and rates of joints that neither follow nor are held; zeros are left out where one begins there."""
        coordinates: dict[str, list] = {}
        rates: dict[str, list] = {}
        outside = []
        moving = False
        for j, place in self.bodies.places.items():
            joint = place.joint
            if {"mimic", "motion"} & joint.words.keys():
                continue
            n_q, n_v = _WIDTHS.get(place.type, _SINGLE)
            at, first = int(self.model.jnt_qposadr[j]), int(self.model.jnt_dofadr[j])
            q, v = self.model.key_qpos[k, at : at + n_q], self.model.key_qvel[k, first : first + n_v]
            held = "motion" in place.words  # a coordinate of a d6
            if place.is_scalar and not held and not limit_holds(place.words, float(q[0])):
                outside.append(f"`{joint.name}` at {float(q[0]):g}")
            coordinates.setdefault(joint.name, []).extend(
                [place.words["motion"]["position"]] if held else self._coordinates(place, q)
            )
            rates.setdefault(joint.name, []).extend([0.0] if held else self._rates(place, q, v))
            moving |= bool(v.any())
        if outside:
            self.acts.note("key", k, f"begins outside of limits: {', '.join(outside)}")
        initial = self.acts.mechanism.initial
        told = {name: _alone(numbers) for name, numbers in coordinates.items() if name in initial or any(numbers)}
        return {"joint_q": told} | ({"joint_qd": {name: _alone(one) for name, one in rates.items()}} if moving else {})

    def _coordinates(self, place: JointPlace, q: np.ndarray) -> list:
        if place.is_scalar:
            return [self.bodies.angle(float(q[0]), place.type)]
        frame = frame_of(q[:3] if place.type == FREE else np.zeros(3), q[-4:])
        x, y, z, w = frame.quaternion
        return [*(frame.xyz if place.type == FREE else ()), *clean_numbers((x, y, z, w))]

    def _rates(self, place: JointPlace, q: np.ndarray, v: np.ndarray) -> list:
        """Rates as scenes have them: of the centre of mass, turning in the axes of the parent."""
        if place.is_scalar:
            return [float(v[0])]
        turn = frame_of(np.zeros(3), q[-4:]).matrix
        spin = turn @ v[-3:]
        if place.type == BALL:
            return list(clean_numbers(spin))
        centre = turn @ self.model.body_ipos[self.model.jnt_bodyid[place.index]]
        return [*clean_numbers(v[:3] + np.cross(spin, centre)), *clean_numbers(spin)]


def _alone(numbers: list) -> object:
    """A number where there is one."""
    return numbers if len(numbers) > 1 else numbers[0]


def read_mjcf(path: Path, root: XmlElement, meshes: MeshFiles, report: ImportReport) -> SourceModel:
    """The mechanism of an MJCF file.

    Args:
        path: of the file.
        root: its root, `mujoco`.
        meshes: takes the meshes that it names.
        report: receives an entry for each element.

    Raises:
        UsageError: MuJoCo is not installed.
        FileError: MuJoCo refuses the file, or it names a file that is missing or outside of its folder; with the line.
    """
    source = compile_mjcf(path, root, meshes.search)
    mechanism = SourceModel(root.get("model") or path.stem)
    read_options(source, mechanism)
    bodies = MjcfBodies(source, mechanism, followers(source))
    bodies.read()
    shapes = MjcfShapes(bodies, meshes)
    shapes.read(colliding_geoms(source))
    acts = Acts(bodies, shapes)
    for parts in (Tendons, Actuators, Equalities, MjcfSensors):
        parts(acts).read()
    set_starts(mechanism, acts.note_joint)
    follow_starts(acts)
    MjcfKeyframes(acts).read()
    acts.remove_idle_couplings()
    of_shape = {id(shape): g for g, shape in shapes.of.items()}
    for shape, words in (one for link in mechanism.links.values() for one in lost_looks(link)):
        bodies.note("geom", of_shape[id(shape)], words)
    Touching(shapes, touching_geoms(source)).write()
    report_elements(source, _fates(source, bodies, shapes), report)
    return mechanism


def _fates(source: MjcfSource, bodies: MjcfBodies, shapes: MjcfShapes) -> Fates:
    """What became of the parts, of those who made them."""
    model = source.model
    for p in range(model.npair):
        if any(("geom", int(end)) in bodies.lost for end in (model.pair_geom1[p], model.pair_geom2[p])):
            bodies.lost["pair", p] = "one of its geoms is dropped"
    used = {"mesh": set(), "hfield": set()}
    types = source.mujoco.mjtGeom
    for g in shapes.of:
        kind = int(model.geom_type[g])
        if kind in (types.mjGEOM_MESH, types.mjGEOM_HFIELD):
            used["mesh" if kind == types.mjGEOM_MESH else "hfield"].add(int(model.geom_dataid[g]))
    return Fates(bodies.lost, bodies.notes, used, compiler_word(source.root, "fusestatic") == "true")
