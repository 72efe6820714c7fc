"""A URDF file as a mechanism.

Source: the XML specification of the Unified Robot Description Format (Willow Garage 2009, now the ROS wiki): links with
inertial, visual and collision; joints of all types with origin, axis, limit, dynamics and mimic; materials.
"""

from pathlib import Path

from simcli.exchange.source.import_report import ImportReport
from simcli.exchange.source.mechanism import SourceLink, SourceModel
from simcli.exchange.source.meshes import MeshFiles
from simcli.exchange.source.xml_reader import XmlElement
from simcli.exchange.urdf.joints import check_urdf_tree, read_urdf_joints
from simcli.exchange.urdf.links import read_urdf_links
from simcli.exchange.urdf.source import UrdfSource
from simcli.spec.lookup.structure import WORLD_NAME


def read_urdf(path: Path, root: XmlElement, meshes: MeshFiles, report: ImportReport) -> SourceModel:
    """The mechanism of a URDF file.

    Args:
        path: of the file, for messages.
        root: its root, `robot`.
        meshes: takes the meshes that it names.
        report: receives a line for each element.

    Raises:
        FileError: the file is no URDF, or contradicts itself; with the line.
    """
    mechanism = SourceModel(root.get("name") or path.stem)
    source = UrdfSource(path, root, meshes, report, mechanism)
    mechanism.links[WORLD_NAME] = SourceLink(WORLD_NAME, 0)
    read_urdf_links(source)
    read_urdf_joints(source)
    root.get("version")
    source.tell_unread(root, mechanism.name)
    check_urdf_tree(path, mechanism)
    _tell_roots(mechanism, report)
    return mechanism


def _tell_roots(mechanism: SourceModel, report: ImportReport) -> None:
    """Tell of each link, but for one, that no joint holds: other readers refuse the file."""
    held = {joint.child for joint in mechanism.joints.values()}
    world = mechanism.links[WORLD_NAME]
    roots = [link for link in mechanism.links.values() if link.name not in held and (link is not world or link.line)]
    roots.sort(key=lambda link: link is not world)
    for link in roots[1:]:
        report.amend("link", link.name, link.line, f"no joint holds it, as none holds `{roots[0].name}`: it stands alone")
