"""Imported MJCF models beside MuJoCo, which compiles the source by itself."""

import json
from pathlib import Path

import h5py
import numpy as np
import pytest

from simcli.cli.doorman import run_command
from simcli.exchange.mechanism import SourceModel
from simcli.exchange.meshes import MeshFiles
from simcli.exchange.mjcf.bodies import BALL, FREE, MjcfBodies
from simcli.exchange.mjcf.equalities import followers
from simcli.exchange.mjcf.reading import read_mjcf
from simcli.exchange.mjcf.source import compile_mjcf
from simcli.exchange.report import ImportReport
from simcli.exchange.scene_text import scene_text
from simcli.exchange.xml_reader import XmlElement, read_xml

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
        self.model.body_gravcomp[:] = 0.0
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

    def velocities(self, velocity):
        """Rates of the scene's joints. Free joints of MuJoCo have the velocity of the origin, and turn in body axes."""
        found = {}
        for (name, k), dof in self.columns().items():
            found.setdefault(name, {})[k] = float(velocity[dof])
        for j, place in self.bodies.places.items():
            if place.type == FREE:
                first, at = int(self.model.jnt_dofadr[j]), int(self.model.jnt_qposadr[j])
                turn = np.zeros(9)
                self.mujoco.mju_quat2Mat(turn, self.data.qpos[at + 3 : at + 7])
                spin = turn.reshape(3, 3) @ velocity[first + 3 : first + 6]
                found[place.joint.name] |= {3 + k: float(x) for k, x in enumerate(spin)}
                centre = turn.reshape(3, 3) @ self.model.body_ipos[self.model.jnt_bodyid[j]]
                for k, x in enumerate(np.cross(spin, centre)):
                    found[place.joint.name][k] += float(x)
        return {name: [rates[k] for k in sorted(rates)] for name, rates in found.items()}

    def draw_rates(self):
        """Random rates of all dofs, [-1, 1]."""
        self.data.qvel[:] = self.random.uniform(-1.0, 1.0, self.model.nv)

    def sets(self):
        """The state of MuJoCo's rates as `--set` of the scene."""
        return [word for name, rates in self.velocities(self.data.qvel).items()
                for word in ("--set", f"initial.joint_qd.{name}={json.dumps(rates)}")]  # fmt: skip

    def run_mujoco(self, steps):
        """Step; poses of the bodies that the scene has, {name: (3,)}."""
        for _ in range(steps):
            self.mujoco.mj_step(self.model, self.data)
        self.mujoco.mj_kinematics(self.model, self.data)
        return {name: self.data.xpos[b].copy() for b, name in self.bodies.names.items()
                if b and self.bodies.frames[b].is_identity}  # fmt: skip

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
