"""Imported MJCF models beside MuJoCo, which compiles the source by itself."""

import json
from pathlib import Path

import h5py
import numpy as np
import pytest

from simcli.cli.process import run_command
from simcli.exchange.mjcf.bodies import MjcfBodies
from simcli.exchange.mjcf.equalities import followers
from simcli.exchange.mjcf.mjcf_file import read_mjcf
from simcli.exchange.mjcf.options import BALL, FREE
from simcli.exchange.mjcf.source import compile_mjcf
from simcli.exchange.scene_text import scene_text
from simcli.exchange.source.import_report import ImportReport
from simcli.exchange.source.mechanism import SourceModel
from simcli.exchange.source.meshes import MeshFiles
from simcli.exchange.source.xml_reader import XmlElement, read_xml

# What is switched off where only the smooth motion of joints is compared.
SMOOTH = ("contact", "limit", "frictionloss", "equality", "actuation")
DT, DURATION = 1e-3, 0.1  # [s]


class Pair:
    """A model in MuJoCo, and the scene that was made of it.

    Args:
        path: MJCF file.
        folder: for the scene.
        off: flags of MuJoCo to switch off, in both.
        step: [s].
        seed: of the random state.
        integrator: of MuJoCo; that of the scene follows.
    """

    def __init__(self, path, folder, off=SMOOTH, step=DT, seed=0, integrator="RK4"):
        self.mujoco = pytest.importorskip("mujoco")
        self.path, self.folder, self.off, self.step = Path(path), folder, off, step
        self.model = self.mujoco.MjModel.from_xml_path(str(path))
        option = self.model.opt
        for flag in off:
            option.disableflags |= int(getattr(self.mujoco.mjtDisableBit, f"mjDSBL_{flag.upper()}"))
        option.timestep, option.integrator = step, getattr(self.mujoco.mjtIntegrator, f"mjINT_{integrator.upper()}")
        option.density = option.viscosity = 0.0
        words = {"timestep": repr(step), "integrator": integrator, "density": "0", "viscosity": "0"}
        root = read_xml(self.path)
        root.children.append(XmlElement("option", 0, words, [XmlElement("flag", 0, dict.fromkeys(off, "disable"))]))
        self.meshes, self.report = MeshFiles(self.path, (), "meshes"), ImportReport(str(path))
        mechanism = read_mjcf(self.path, root, self.meshes, self.report)
        self.mechanism = mechanism
        mechanism.sections["run"] = {"duration": DURATION}
        folder.mkdir(parents=True, exist_ok=True)
        self.scene = folder / "scene.yaml"
        self.scene.write_text(scene_text(mechanism, self.report, "0"))
        for name, data in self.meshes.files.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_bytes(data)
        source = compile_mjcf(self.path, root)
        self.bodies = MjcfBodies(source, SourceModel("peer"), followers(source))
        self.bodies.read()
        self.random = np.random.default_rng(seed)
        self.data = self.mujoco.MjData(self.model)
        self.data.qpos[:] = self.model.qpos0

    def columns(self):
        """Label of each dof of the scene to (dof of MuJoCo, its joint)."""
        found = {}
        for j, place in self.bodies.places.items():
            first = int(self.model.jnt_dofadr[j])
            count = {FREE: 6, BALL: 3}.get(place.type, 1)
            for k in range(count):
                found[place.joint.name, place.dof + k] = first + k
        return found

    def transform(self):
        """(nv, nv) that takes the rates of the scene, in the order of MuJoCo's dofs, to MuJoCo's.

        Free joints of the scene have the velocity of the centre of mass, those of MuJoCo that of the origin; balls and free
        joints of the scene turn in the axes of the parent, those of MuJoCo in the axes of the body.
        """
        found = np.eye(self.model.nv)
        for j, place in self.bodies.places.items():
            first, at = int(self.model.jnt_dofadr[j]), int(self.model.jnt_qposadr[j])
            if place.type not in (FREE, BALL):
                continue
            turn, offset = np.zeros(9), 3 if place.type == FREE else 0
            self.mujoco.mju_quat2Mat(turn, self.data.qpos[at + offset : at + offset + 4])
            turn = turn.reshape(3, 3)
            spin = slice(first + offset, first + offset + 3)
            found[spin, spin] = turn.T
            if place.type == FREE:
                x, y, z = turn @ self.model.body_ipos[self.model.jnt_bodyid[j]]
                found[first : first + 3, spin] = [[0, -z, y], [z, 0, -x], [-y, x, 0]]
        return found

    def velocities(self, velocity):
        """Rates of the scene's joints, by name, of velocities of MuJoCo."""
        rates = np.linalg.solve(self.transform(), velocity)
        found = {}
        for (name, k), dof in self.columns().items():
            found.setdefault(name, {})[k] = float(rates[dof])
        return {name: [rates[k] for k in sorted(rates)] for name, rates in found.items()}

    def draw_coordinates(self):
        """Random coordinates of all joints but the free ones; gears do not hold there."""
        for j, place in self.bodies.places.items():
            at = int(self.model.jnt_qposadr[j])
            if place.type == BALL:
                quaternion = self.random.normal(size=4)
                self.data.qpos[at : at + 4] = quaternion / np.linalg.norm(quaternion)
            elif place.type != FREE:
                self.data.qpos[at] += self.random.uniform(-1.0, 1.0)

    def coordinates(self):
        """Coordinates of the scene's joints as `--q` takes them."""
        found = {}
        for j, place in self.bodies.places.items():
            at = int(self.model.jnt_qposadr[j])
            count = {FREE: 7, BALL: 4}.get(place.type, 1)
            numbers = self.data.qpos[at : at + count].tolist()
            w = [numbers.pop(count - 4)] if count > 1 else []
            found.setdefault(place.joint.name, {})[place.dof] = numbers + w
        words = {name: [x for k in sorted(parts) for x in parts[k]] for name, parts in found.items()}
        return ",".join(f"{name}={','.join(map(repr, numbers))}" for name, numbers in words.items())

    def mass_difference(self):
        """Relative difference of the mass matrices at random coordinates."""
        self.draw_coordinates()
        out = self.folder / "matrix.json"
        line = ["mass-matrix", str(self.scene), "--q", self.coordinates(), "-o", str(out), "--force"]
        assert run_command(line, debug=True, as_json=False) == 0
        found = json.loads(out.read_text())
        mine = np.array(found["mass_matrix"][0])
        self.mujoco.mj_forward(self.model, self.data)
        theirs = np.zeros((self.model.nv, self.model.nv))
        self.mujoco.mj_fullM(self.model, self.data, theirs)
        change = self.transform()
        theirs = change.T @ theirs @ change
        of = self.columns()
        labels = [(name, int(k or 0)) for name, _, k in (label.partition(":") for label in found["labels"]["NV"])]
        order = [of[label] for label in labels if label in of]
        kept = [n for n, label in enumerate(labels) if label in of]
        theirs = theirs[np.ix_(order, order)]
        return np.abs(mine[np.ix_(kept, kept)] - theirs).max(initial=0.0) / max(np.abs(theirs).max(initial=0.0), 1e-300)

    def draw_rates(self):
        """Random rates of all dofs, [-1, 1]."""
        self.data.qvel[:] = self.random.uniform(-1.0, 1.0, self.model.nv)

    def sets(self):
        """The state of MuJoCo's rates as `--set` of the scene."""
        return [
            word
            for name, rates in self.velocities(self.data.qvel).items()
            for word in ("--set", f"initial.joint_qd.{name}={json.dumps(rates)}")
        ]

    def run_mujoco(self, steps):
        """Step; poses of the bodies that the scene has, {name: (3,)}."""
        for _ in range(steps):
            self.mujoco.mj_step(self.model, self.data)
        self.mujoco.mj_kinematics(self.model, self.data)
        return {
            name: self.data.xpos[b].copy()
            for b, name in self.bodies.names.items()
            if b and self.bodies.frames[b].is_identity
        }

    def run_scene(self, *words):
        """Run; positions of the bodies at the end, {name: (3,)}."""
        out = self.folder / "out.h5"
        line = ["run", str(self.scene), *self.sets(), *words, "--force", "-q", "-o", str(out)]
        assert run_command(line, debug=True, as_json=False) == 0
        with h5py.File(out) as file:
            names = [name.decode() if isinstance(name, bytes) else name for name in file["frames/body_name"][:]]
            last = np.asarray(file["frames/body_q"][-1, 0])
        return {name: last[k, :3] for k, name in enumerate(names)}

    def difference(self, *words):
        """[m] the largest difference of positions after DURATION, with random rates."""
        self.draw_rates()
        found = self.run_scene(*words)
        theirs = self.run_mujoco(round(DURATION / self.step))
        return max((np.abs(found[name] - at).max() for name, at in theirs.items() if name in found), default=0.0)
