"""Things added as the house page says: where each line goes, in a copy of the package.

A change of a file is a line that is there and what stands behind it then, or the text of a file that is new.
"""

import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import simcli
from support.process import TIMEOUT, environment

HOUSE = Path(simcli.__file__).parent
Lines = Mapping[str, str | Sequence[tuple[str, str]]]

MAGNET: Lines = {
    "spec/schema/forces.py": [
        (
            '            raise refuse("SC202", "the drag does nothing", '
            "f\"add one of {', '.join(f'`{key}`' for key in _ACTS_OF_DRAG)}\")\n        return self\n",
            '''

class MagnetForce(ForceBase):
    """A pull of two points towards each other, by the square of their distance."""

    type: Literal["magnet"] = doc(REQUIRED, "Kind of force", "", "magnet")
    a: EndSpec = doc(REQUIRED, "First point", "", "{world: [0, 0, 0]}")
    b: EndSpec = doc(REQUIRED, "Second point", "", "moon/p")
    strength: quantity("N*m^2", ge=0) = doc(REQUIRED, "Force times the square of the distance", "N*m^2", 8)

    ENDS = ("a", "b")
    EVENTS = (("strength",),)
''',
        ),
    ],
    "model/tables/force_tables.py": [
        (
            '    wind: Array = per("W|1 X xyz", "m/s", changes=Changes.VALUES)\n',
            '''

@dataclass(frozen=True)
class Magnets(Table, axis="Q", entry="magnet"):
    """Pulls of two points towards each other."""

    name: tuple[str, ...]
    body: Array = per("Q end", refers="B")
    point: Array = per("W|1 Q end xyz", "m")
    strength: Array = per("W|1 Q", "N m^2", changes=Changes.NUMBERS)
''',
        ),
    ],
    "model/tables/model.py": [
        (
            "from simcli.model.tables.force_tables import Bushings, Cables, Drags, Ropes, Springs, Wrenches\n",
            "from simcli.model.tables.force_tables import Magnets\n",
        ),
        (
            "    drags: Drags = field(default_factory=Drags.empty)\n",
            "    magnets: Magnets = field(default_factory=Magnets.empty)\n",
        ),
    ],
    "model/forces/magnet.py": '''"""Magnets of a scene."""

from simcli.model.forces.ends import of_type, read_ends, read_keys
from simcli.model.tables.force_tables import Magnets
from simcli.model.tables.model import Model
from simcli.model.tables.worlds import Worlds


def read_magnets(worlds: Worlds, model: Model) -> Magnets:
    """Magnets."""
    names = of_type(worlds, "magnet")
    body, point = read_ends(worlds, model, names)
    return Magnets(tuple(names), body, point, **read_keys(worlds, names, Magnets, ("strength",)))
''',
    "model/from_scene.py": [
        (
            "from simcli.model.forces.ends import LINK_TABLES\n",
            "from simcli.model.forces.magnet import read_magnets\n",
        ),
        ('    "drags": read_drags,\n', '    "magnets": read_magnets,\n'),
    ],
    "kernels/forces/magnets.py": '''"""Magnets: F = strength / d^2 towards each other, V = -strength / d."""

from simcli.kernels.articulation.points import world_point
from simcli.kernels.device.model_tables import Tables
from simcli.kernels.language import ti
from simcli.kernels.language.values import Vec3
from simcli.kernels.rows.forms import length_along
from simcli.model.joints.tree_kinematics import link_points, links_of
from simcli.model.tables.model import Model


@ti.func
def act_of_magnet(t: ti.template(), u: ti.template(), s: ti.template(), w: ti.i32, k: ti.i32):
    """What magnet k does to its links; see wrenches.py.

    Reads: u columns, s.{R, o, v, origin}
    """
    zero = t.arena.zero()
    x_a, p_a, v_a = world_point(t, s, w, u.link_a.at(k), u.point_a.load(w, k))
    x_b, p_b, v_b = world_point(t, s, w, u.link_b.at(k), u.point_b.load(w, k))
    length, _rate, along = length_along(p_b - p_a, v_b - v_a)
    potential = (zero + u.strength.load(w, k)) * (-1.0 / length)
    return along * (potential / length), Vec3(zero, zero, zero), x_a, x_b, zero, zero, potential


class MagnetColumns:
    """Device columns of magnets."""

    _data_oriented = True
    act = staticmethod(act_of_magnet)
    stores, need_poses, damps, by_rows = True, True, False, False

    def __init__(self, model: Model, tables: Tables, _forces):
        magnets, self.n = model.magnets, len(model.magnets.name)
        items = tables.arena.records(self.n)
        self.link_a, self.link_b = (items.ints(links_of(model.links, body)) for body in magnets.body.T)
        self.point_a, self.point_b = (
            items.column(link_points(model.links, magnets.body[:, k], magnets.point[:, :, k]), Vec3) for k in range(2)
        )
        self.strength = items.column(magnets.strength)
''',
    "kernels/forces/columns.py": [
        (
            "from simcli.kernels.forces.bushings import Bushings\n",
            "from simcli.kernels.forces.magnets import MagnetColumns\n",
        ),
        ("    drags: DragColumns\n", "    magnets: MagnetColumns\n"),
    ],
}
SPEED: Lines = {
    "spec/base/sensor_types.py": [
        (
            '    "gyro": SensorType(AT_FRAME, 3, "rad/s", "angular velocity, in axes of the frame"),\n',
            '    "speed": SensorType(AT_FRAME, 1, "m/s", "speed of the origin"),\n',
        ),
    ],
    "solvers/output/sensor_formulas.py": [
        (
            "# Of a frame, as seen from another\n",
            '''

def _speed(g, c, w, n):
    """|v|."""
    f = _frame(g, c, w, n)
    g.sensors.values.store(w, g.sensors.first.at(n), ti.sqrt(f.v.dot(f.v)))


''',
        ),
        ('    "gyro": _gyro,\n', '    "speed": _speed,\n'),
    ],
}
TWISTS: Lines = {
    "output_channels.py": [('    "body_qdd": (),\n', '    "twists": (),\n')],
    "records/contents/layout.py": [
        (
            '    Dataset("frames/body_q", ("F", "W", "B", "pose"), "m, 1", '
            '"pose of the body frame, world", channel="bodies"),\n',
            '    Dataset("frames/body_twist", ("F", "W", "B", "twist"), "mixed", "velocities", channel="twists"),\n',
        ),
        (
            "OF_BODIES = {\n",
            '    "twist": _Entries("frames/body_twist", 0, COMPONENTS["twist"], "mixed"),\n',
        ),
    ],
    "solvers/run/frame_buffers.py": [
        (
            '    Other("body_qdd", "body_qdd", lambda c: c.rows.body_qdd),\n',
            '    Other("body_twist", "twists", lambda c: c.rows.body_qd),\n',
        ),
    ],
}
MIN_ABS: Lines = {
    "spec/base/channel_names.py": [
        (
            '    "max_abs": ReductionType("largest absolute value of {}", "Largest absolute value, and when", '
            '"joint.shaft.drive_effort"),\n',
            '    "min_abs": ReductionType("smallest absolute value of {}", "Smallest absolute value", "joint.arm.q"),\n',
        ),
    ],
    "solvers/output/reductions.py": [
        (
            "    _keep(m, w, n, size, t, takes & ~(size <= m.value.load(w, n)))\n",
            '''

def keep_nearest(m, w, n, x, t, takes, _starts):
    """`min_abs`: as `keep_largest`."""
    size = local(abs(x))
    _keep(m, w, n, size, t, takes & ~(size >= m.value.load(w, n)))
''',
        ),
        ('    "max_abs": keep_farthest,\n', '    "min_abs": keep_nearest,\n'),
    ],
}
# By the words with which its line of the house page begins.
RECIPES: dict[str, Lines] = {
    "a force on links": MAGNET,
    "a channel of frames": TWISTS,
    "a type of sensor": SPEED,
    "a reduction of measures": MIN_ABS,
}


def copy_with(folder: Path, *recipes: Lines) -> Path:
    """A folder with a copy of the package, changed by recipes."""
    copy = folder / "simcli"
    shutil.copytree(HOUSE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "release.txt").write_text(simcli.__version__)  # as an installed package has it
    for name, change in (item for recipe in recipes for item in recipe.items()):
        path = copy / name
        if isinstance(change, str):
            path.write_text(change, encoding="utf-8")
            continue
        text = path.read_text(encoding="utf-8")
        for there, added in change:
            assert text.count(there) == 1, (name, there)
            text = text.replace(there, there + added)
        path.write_text(text, encoding="utf-8")
    return folder


def in_copy(folder: Path, *words: str) -> subprocess.CompletedProcess:
    """What a process of Python says that has the copy."""
    return subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        env=environment(PYTHONPATH=str(folder)),
        check=False,
    )
