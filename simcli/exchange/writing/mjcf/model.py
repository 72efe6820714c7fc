"""A scene as MJCF: bodies within each other, the state in which a run begins as the keyframe `start`, and its keyframes.

Source: the XML reference of MuJoCo 3 and 4 (Google DeepMind). MuJoCo keeps loops, gears, limits and dry friction softly,
where a scene keeps them exactly: the report tells it of loops and gears, which are as hard as MuJoCo takes them.
"""

from simcli.exchange.writing.mesh_copies import MeshCopies
from simcli.exchange.writing.mjcf.acts import write_drives, write_forces, write_gears, write_loops
from simcli.exchange.writing.mjcf.parts import MjcfParts
from simcli.exchange.writing.mjcf.sensors import write_sensors
from simcli.exchange.writing.mjcf.shapes import write_shapes_of_all
from simcli.exchange.writing.mjcf.start import write_keyframes, write_start
from simcli.exchange.writing.mjcf.touch import write_touching
from simcli.exchange.writing.mjcf.tree import write_bodies, write_places
from simcli.exchange.writing.source import WrittenScene
from simcli.exchange.writing.xml_text import Tag, tag
from simcli.model.tables.model import WORLD
from simcli.spec.lookup.structure import WORLD_NAME

_HARDEST = (0.9999, 0.9999, 0.001, 0.5, 2)  # impedance of equalities, the largest that MuJoCo takes
_STEPS = 2  # time constant of equalities, over the time step: the smallest that MuJoCo takes
_INTEGRATORS = {"rk4": "RK4", "implicit": "implicit"}  # what is most alike; else MuJoCo's own


def mjcf_of(scene: WrittenScene, meshes: MeshCopies) -> Tag:
    """The root element of a scene as MJCF.

    Args:
        scene: that is written; its report gets a line for each element.
        meshes: gets the meshes.
    """
    root, parts = tag("mujoco", model=scene.spec.name), MjcfParts.of(scene, meshes)
    root.add("compiler", angle="radian", autolimits=True, inertiafromgeom=False)
    solver = scene.spec.solver
    integrator = _INTEGRATORS.get(getattr(solver, "integrator", ""))
    option = root.add("option", timestep=solver.dt, gravity=scene.first(scene.model, "gravity"), integrator=integrator)
    if not scene.spec.contact.enabled:
        option.add("flag", contact="disable")
    if scene.has("solver"):
        scene.report_element("solver", solver.type, "solver",
                             f"its time step and {integrator or 'the default integrator of MuJoCo'}")
    write_places(parts, WORLD, scene.spec.world, WORLD_NAME, f"{WORLD_NAME}_")
    write_bodies(parts)
    write_shapes_of_all(parts)
    write_touching(parts)
    write_loops(parts)
    write_gears(parts)
    write_drives(parts)
    write_forces(parts)
    write_sensors(parts)
    write_start(parts)
    write_keyframes(parts)
    if parts.sections["equality"].children:
        root.children.insert(1, tag("default"))
        root.children[1].add("equality", solref=(_STEPS * solver.dt, 1), solimp=_HARDEST)
    root.children += [section for section in parts.sections.values() if section.children]
    return root
