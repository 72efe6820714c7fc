"""The gallery of the manual: its page, its commands, its pictures and films; the robot of the page `import`."""

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

import simcli

DOCS = Path(simcli.__file__).parent / "docs"
ROOT = DOCS.parents[1]
PAGE = DOCS / "gallery.md"
VIVID, PALE = 128, 128  # colours of a picture in the manual: of bodies, which are few pixels, and of what is around
CHROMA = 14  # of 255, between them
ROBOT = ROOT / "scenes" / "robot.urdf"
ROBOT_PICTURE = DOCS / "gallery" / "robot.png"
_ORANGE, _DARK, _LIGHT = "0.93 0.42 0.08 1", "0.13 0.14 0.16 1", "0.78 0.80 0.83 1"
_SIDES = 20  # of a circle
_COLLADA = """\
<?xml version="1.0" encoding="utf-8"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><unit name="millimeter" meter="0.001"/><up_axis>Z_UP</up_axis></asset>
<library_effects>
{effects}
</library_effects>
<library_materials>
{materials}
</library_materials>
<library_geometries>
{geometries}
</library_geometries>
<library_visual_scenes><visual_scene id="scene">
{nodes}
</visual_scene></library_visual_scenes>
<scene><instance_visual_scene url="#scene"/></scene>
</COLLADA>
"""
_PART = {
    "effects": """\
<effect id="e{k}"><profile_COMMON><technique sid="t">
<lambert><diffuse><color>{colour}</color></diffuse></lambert></technique></profile_COMMON></effect>""",
    "materials": '<material id="m{k}"><instance_effect url="#e{k}"/></material>',
    "geometries": """\
<geometry id="g{k}"><mesh>
<source id="p{k}"><float_array id="a{k}" count="{n_numbers}">{numbers}</float_array>
<technique_common><accessor source="#a{k}" count="{n_points}" stride="3"><param name="X" type="float"/>
<param name="Y" type="float"/><param name="Z" type="float"/></accessor></technique_common></source>
<vertices id="v{k}"><input semantic="POSITION" source="#p{k}"/></vertices>
<triangles count="{n_faces}" material="s"><input semantic="VERTEX" source="#v{k}" offset="0"/><p>{faces}</p></triangles>
</mesh></geometry>""",
    "nodes": """\
<node id="n{k}"><instance_geometry url="#g{k}"><bind_material><technique_common>
<instance_material symbol="s" target="#m{k}"/></technique_common></bind_material></instance_geometry></node>""",
}
_ENTRY = re.compile(
    r"^## (?P<title>.+?)\n\n!\[(?P<alt>.*?)\]\((?P<file>.*?)\)\n\n(?P<text>.+?)\n\n"
    r"```console\n(?P<code>.+?)```",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Entry:
    """A picture of the gallery.

    Attributes:
        title: of the mechanism.
        text: a sentence on it.
        picture: the file in the manual.
        run, render, play: words of its commands, without `simcli`: of the run, its picture and its film.
    """

    title: str
    text: str
    picture: Path
    run: list[str]
    render: list[str]
    play: list[str]

    @property
    def film(self):
        """The file in the manual."""
        return self.picture.with_suffix(".mp4")

    def commands(self, folder, size=None):
        """The commands as they are run for the manual or a test, with files in a folder; `size` instead of the page's."""
        name = Path(self.run[1]).stem
        result, picture = str(folder / f"{name}.h5"), str(folder / self.render[3])
        options = list(self.render[4:])
        if size:
            options[options.index("--size") + 1] = size
        run = [self.run[0], str(ROOT / self.run[1]), "-o", result, "-q"]
        return (run, ["render", result, "-o", picture, *options]), picture

    def film_command(self, folder):
        """The command that draws the film into a folder where the run is."""
        return ["render", str(folder / f"{self.film.stem}.h5"), "-o", str(folder / self.film.name), *self.play[4:]]


def entries():
    """All of the page, in order."""
    found = []
    for entry in _ENTRY.finditer(PAGE.read_text(encoding="utf-8")):
        run, render, play = (shlex.split(line)[1:] for line in entry["code"].splitlines())
        found.append(Entry(entry["title"], entry["text"], DOCS / entry["file"], run, render, play))
    return found


def made(entry, folder, command, size=None):
    """Run the commands of an entry; the picture, (h, w, 3).

    Args:
        entry: of the page.
        folder: for files.
        command: runs words of a command line, and raises if that fails.
        size: as of `Entry.commands`.
    """
    commands, picture = entry.commands(folder, size)
    for words in commands:
        command(words)
    with Image.open(picture) as image:
        return np.asarray(image.convert("RGB"))


def write_small(picture, path):
    """Write a picture with few colours, so that the repository stays small."""
    pixels = picture.reshape(-1, 3)
    is_vivid = np.ptp(pixels.astype(int), axis=1) > CHROMA
    palette = []
    for part, n in ((pixels[is_vivid], VIVID), (pixels[~is_vivid], PALE)):
        palette += Image.fromarray(part[None]).quantize(n, kmeans=3).getpalette()[: 3 * n]
    colours = Image.new("P", (1, 1))
    colours.putpalette(palette)
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(picture).quantize(palette=colours, dither=Image.Dither.NONE).save(path, optimize=True)


def shrunk(picture, size):
    """A picture at a smaller size, (h, w, 3), each pixel the mean of its area."""
    return np.asarray(Image.fromarray(picture).resize(size, Image.Resampling.BOX))


def turned(profile, about_y=False):
    """A solid of revolution about z, or y, of (radius, height) from its bottom to its top [mm]: points and triangles."""
    angles = 2 * np.pi * np.arange(_SIDES) / _SIDES
    rings = [(r * np.cos(angles), r * np.sin(angles), np.full(_SIDES, h)) for r, h in profile]
    ends = [np.array([[0.0], [0.0], [h]]) for h in (profile[0][1], profile[-1][1])]
    x, y, z = np.concatenate([ends[0], *rings, ends[1]], axis=1)
    here = 1 + np.arange(_SIDES)
    after, top = np.roll(here, -1), _SIDES * (len(profile) - 1)
    faces = [np.stack([0 * here, after, here], axis=1)]
    for low in range(0, top, _SIDES):
        faces += [
            np.stack([here, after, after + _SIDES], axis=1) + low,
            np.stack([here, after + _SIDES, here + _SIDES], axis=1) + low,
        ]
    faces.append(np.stack([0 * here + top + _SIDES + 1, here + top, after + top], axis=1))
    return np.stack((x, z, -y) if about_y else (x, y, z), axis=1), np.concatenate(faces)


def block(low, high):
    """A box between two corners [mm]: points and triangles."""
    points = np.array([(x, y, z) for z in (low[2], high[2]) for y in (low[1], high[1]) for x in (low[0], high[0])], float)
    sides = (0, 2, 3, 1), (4, 5, 7, 6), (0, 1, 5, 4), (2, 6, 7, 3), (0, 4, 6, 2), (1, 3, 7, 5)
    return points, np.array([one for a, b, c, d in sides for one in ((a, b, c), (a, c, d))])


def drum(radius, half):
    """A cylinder about y with blunt edges [mm]."""
    return turned([(radius - 8, -half), (radius, 8 - half), (radius, half - 8), (radius - 8, half)], about_y=True)


def robot_meshes():
    """Meshes of the robot in COLLADA, by the names of their files: text."""
    cheeks = [block((-50, y - 17, 160), (50, y + 18, 250)) for y in (-68, 67)]
    fork = [block((-35, y - 15, 330), (35, y + 15, 430)) for y in (-60, 60)]
    fingers = [block((-18, y - 7, 100), (18, y + 7, 175)) for y in (-45, 45)]
    looks = {
        "base": {
            _DARK: [turned([(150, 0), (150, 20), (140, 30)]), *cheeks],
            _ORANGE: [turned([(110, 30), (100, 60), (75, 120), (70, 170)])],
            _LIGHT: [turned([(72, 170), (72, 180)])],
        },
        "arm": {
            _DARK: [drum(60, 50), *fork, block((-35, -75, 325), (35, 75, 345))],
            _ORANGE: [turned([(38, 40), (46, 70), (36, 300), (32, 340)])],
            _LIGHT: [drum(35, 90), turned([(36, 310), (36, 325)])],
        },
        "hand": {
            _DARK: [drum(45, 42), block((-30, -60, 80), (30, 60, 100))],
            _ORANGE: [turned([(30, 30), (34, 50), (34, 80)])],
            _LIGHT: fingers,
        },
    }
    return {f"robot_{name}.dae": _collada(look) for name, look in looks.items()}


def _collada(look):
    """The text of a COLLADA file: a geometry for each colour."""
    rows = {key: [] for key in _PART}
    for k, (colour, solids) in enumerate(look.items()):
        points = np.concatenate([points for points, _ in solids])
        starts = np.cumsum([0, *(len(points) for points, _ in solids)])
        faces = np.concatenate([faces + start for (_, faces), start in zip(solids, starts, strict=False)])
        values = {
            "n_numbers": points.size,
            "n_points": len(points),
            "n_faces": len(faces),
            "numbers": " ".join(f"{number:.0f}" for number in points.ravel() + 0.0),
            "faces": " ".join(map(str, faces.ravel())),
        }
        for key, part in _PART.items():
            rows[key].append(part.format(k=k, colour=colour, **values))
    return _COLLADA.format(**{key: "\n".join(parts) for key, parts in rows.items()})


def robot_commands(folder, size=None):
    """Commands of the page `import` that draw the robot, with files in a folder, and the picture; `size` as of `Entry`."""
    text = (DOCS / "import.md").read_text(encoding="utf-8").split("## Meshes with colours")[1]
    lines = re.search(r"```bash\n(.+?)```", text, re.DOTALL)[1].replace("\\\n", " ").splitlines()
    read, draw = (shlex.split(line, comments=True)[1:] for line in lines)
    scene, picture = str(folder / read[3]), str(folder / draw[3])
    options = draw[4:]
    if size:
        options[options.index("--size") + 1] = size
    return (["import", str(ROOT / read[1]), "-o", scene], ["show", scene, "-o", picture, *options]), picture
