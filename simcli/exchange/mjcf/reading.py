"""An MJCF file as a mechanism: the order in which its parts are made."""

from pathlib import Path

from simcli.exchange.beginning import set_starts
from simcli.exchange.import_report import ImportReport
from simcli.exchange.looks import lost_looks
from simcli.exchange.mechanism import SourceModel
from simcli.exchange.meshes import MeshFiles
from simcli.exchange.mjcf.acts import Acts
from simcli.exchange.mjcf.actuators import Actuators
from simcli.exchange.mjcf.bodies import MjcfBodies
from simcli.exchange.mjcf.element_report import Fates, report_elements
from simcli.exchange.mjcf.equalities import Equalities, follow_starts, followers
from simcli.exchange.mjcf.keyframes import MjcfKeyframes
from simcli.exchange.mjcf.options import read_options
from simcli.exchange.mjcf.sensors import MjcfSensors
from simcli.exchange.mjcf.shapes import MjcfShapes
from simcli.exchange.mjcf.source import MjcfSource, compile_mjcf, compiler_word
from simcli.exchange.mjcf.tendons import Tendons
from simcli.exchange.mjcf.touching import Touching, colliding_geoms, touching_geoms
from simcli.exchange.xml_reader import XmlElement


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
    report_elements(source, _fates(source, bodies, shapes, acts), report)
    return mechanism


def _fates(source: MjcfSource, bodies: MjcfBodies, shapes: MjcfShapes, acts: Acts) -> Fates:
    """What became of the parts, of those who made them."""
    model = source.model
    lost = acts.lost | {("geom", g): why for g, why in shapes.lost.items()}
    lost |= {("camera", c): why for c, why in shapes.lost_cameras.items()}
    for p in range(model.npair):
        ends = {int(model.pair_geom1[p]), int(model.pair_geom2[p])}
        if ends & set(shapes.lost):
            lost["pair", p] = "one of its geoms is dropped"
    used = {"mesh": set(), "hfield": set()}
    types = source.mujoco.mjtGeom
    for g in shapes.of:
        kind = int(model.geom_type[g])
        if kind in (types.mjGEOM_MESH, types.mjGEOM_HFIELD):
            used["mesh" if kind == types.mjGEOM_MESH else "hfield"].add(int(model.geom_dataid[g]))
    return Fates(lost, bodies.notes, used, compiler_word(source.root, "fusestatic") == "true")
