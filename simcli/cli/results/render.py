"""`simcli render`: pictures and films of a run, without a display."""

import re
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from simcli.cli import console
from simcli.cli.options import FilePath, JsonFlag, ReplaceForeign, WorldList, output_option, parse_worlds, spare_runs
from simcli.errors import Exit, UsageError

if TYPE_CHECKING:
    from simcli.view.render import Look, Shooting

FPS, _SPEED, MOST_FPS = 30.0, 1.0, 240.0
LEAST_EDGE, MOST_EDGE = 16, 8192  # pixels
MOST_PICTURES = 1_000_000
PICTURE_SIZE, GIF_SIZE = "1280x720", "640x360"
SAMPLES = 5  # pictures that decide the colours of a GIF
ONLY_FILMS = {"--fps": "fps", "--speed": "speed"}
ONLY_PICTURES = {"--time": "time", "--strobe": "strobe"}

Size = Annotated[
    str, typer.Option("--size", metavar="WxH", help="Pixels.", show_default=f"{PICTURE_SIZE}, of a GIF {GIF_SIZE}")
]
CameraName = Annotated[
    str,
    typer.Option("--camera", metavar="NAME", help="A camera of the scene, or auto: frames the motion.", show_default=False),
]


def render(
    file: FilePath,
    output: Annotated[Path | None, output_option("File to write (png, gif, mp4).", show_default="FILE.png")] = None,
    time: Annotated[
        float | None, typer.Option("--time", metavar="T", help="Time of a picture, s. Default: the start.")
    ] = None,
    strobe: Annotated[
        int | None,
        typer.Option(
            "--strobe",
            metavar="N",
            min=2,
            max=200,
            help="N instants in one picture, up to --time or the end, the earlier the fainter.",
        ),
    ] = None,
    fps: Annotated[float | None, typer.Option("--fps", metavar="N", help="Pictures a second.", show_default="30")] = None,
    speed: Annotated[
        float | None, typer.Option("--speed", metavar="X", help="Speed relative to the motion.", show_default="1")
    ] = None,
    camera: CameraName = "",
    size: Size = "",
    world: WorldList = None,
    overlay: Annotated[bool, typer.Option("--overlay", help="Worlds over each other, else side by side.")] = False,
    force: ReplaceForeign = False,
    json: JsonFlag = False,
) -> int:
    """Draw a run: a picture (png) or a film (gif, mp4). It needs no display and no graphics card.

    Example: simcli render outputs/swing.h5 -o swing.png --time 0.5
    Example: simcli render outputs/swing.h5 -o swing.mp4 --fps 30 --speed 0.5 --size 1280x720
    Example: simcli render outputs/batch.h5 -o batch.png --world 0-8 --strobe 10
    """
    from simcli.records.drafts import claim_path
    from simcli.view.images import check_picture_suffix, is_film
    from simcli.view.render import Look

    target = output or file.with_suffix(".png")
    check_picture_suffix(target)
    spare_runs(target, [file])
    claim_path(target, force, seeks=target.suffix.lower() == ".mp4")
    given = {"fps": fps, "speed": speed, "time": time, "strobe": strobe}
    _check_given(given, is_film(target), target)
    look = Look(parse_size(size or (GIF_SIZE if target.suffix.lower() == ".gif" else PICTURE_SIZE)), camera, overlay)
    with console.stdout_kept_clean():
        document = _draw(file, target, parse_worlds(world), look, given)
    say_render_notes(document["notes"])
    console.say(f"wrote {target} ({_words(document)})")
    if json:
        console.emit("render", {"path": target, **document})
    return Exit.OK


def say_render_notes(notes: Sequence[str]) -> None:
    """Say what cannot be drawn."""
    for note in notes:
        console.note(note)


def parse_size(text: str) -> tuple[int, int]:
    """Width and height out of `1280x720`.

    Raises:
        UsageError: the text is no size, or one out of bounds.
    """
    found = re.fullmatch(r"(\d+)[xX](\d+)", text.strip())
    if not found:
        raise UsageError(f"--size {text}: write width and height in pixels, as 1280x720")
    size = int(found[1]), int(found[2])
    if not LEAST_EDGE <= min(size) <= max(size) <= MOST_EDGE:
        raise UsageError(f"--size {text}: pictures have {LEAST_EDGE} to {MOST_EDGE} pixels a side")
    return size


def _check_given(given: dict, film: bool, target: Path) -> None:
    """Refuse options of films for a picture, and of pictures for a film; and numbers out of bounds."""
    wrong, kind, other = (
        (ONLY_PICTURES, "a film", "a picture, .png") if film else (ONLY_FILMS, "a picture", "a film, .gif or .mp4")
    )
    for option, name in wrong.items():
        if given[name] is not None:
            raise UsageError(f"{option} is of {other}; {target.name} is {kind}")
    for option, most in (("fps", MOST_FPS), ("speed", float("inf"))):
        if given[option] is not None and not 0.0 < given[option] <= most:
            bound = f", at most {most:g}" if most < float("inf") else ""
            raise UsageError(f"--{option} {given[option]:g}: write a number above 0{bound}")


def _draw(file: Path, target: Path, worlds: list[int], look: "Look", given: dict) -> dict:
    """Write the picture or film; gives what is said of it."""
    from simcli.cli.progress import fraction_shown
    from simcli.records.reading.reader import open_trajectory
    from simcli.view.images import is_film
    from simcli.view.render import shooting_of
    from simcli.view.subject import subject_of_run

    with open_trajectory(file) as run:
        subject = subject_of_run(run, worlds)
        shooting = shooting_of(subject, look)
        with fraction_shown("drawing") as tell:
            said = (_write_film if is_film(target) else _write_picture)(shooting, target, given, tell)
        eye = shooting.studio.camera
        camera = {"position": eye.position, "target": eye.target, "up": eye.up, "fov": eye.fov}
        return {
            "worlds": worlds,
            "width": look.size[0],
            "height": look.size[1],
            **said,
            "camera": camera,
            "notes": [*subject.notes, *subject.drawings[0].notes],
        }


def _write_picture(shooting: "Shooting", target: Path, given: dict, tell) -> dict:
    import numpy as np

    from simcli.view.images import write_picture

    begin, end = float(shooting.moments.time[0]), given["time"]
    if given["strobe"]:
        end = float(shooting.moments.time[-1]) if end is None else end
        times = np.linspace(begin, end, given["strobe"]).tolist()
        picture = shooting.strobe(times)
    else:
        times = [begin if end is None else end]
        picture = shooting.at(times[0])
    write_picture(picture, target)
    return {"pictures": 1, "times": times}


def _write_film(shooting: "Shooting", target: Path, given: dict, tell) -> dict:
    from simcli.view.images import check_film, write_film
    from simcli.view.render import times_of_film

    rate = Fraction(given["fps"] or FPS).limit_denominator(1001)
    begin, end = float(shooting.moments.time[0]), float(shooting.moments.time[-1])
    speed = given["speed"] or _SPEED
    if (end - begin) / speed * rate > MOST_PICTURES:
        raise UsageError(
            f"{end - begin:g} s at --speed {speed:g} and --fps {float(rate):g} are more than {MOST_PICTURES} "
            "pictures: raise --speed"
        )
    times = times_of_film(begin, end, rate, speed)
    size = shooting.studio.look.size
    check_film(len(times), size, rate, target)
    few = sorted({times[k * (len(times) - 1) // (SAMPLES - 1)] for k in range(SAMPLES)})
    samples = [shooting.at(time) for time in few] if target.suffix.lower() == ".gif" else []
    write_film(shooting.film(times, tell), samples, size, rate, target)
    return {"pictures": len(times), "fps": float(rate), "speed": speed, "times": [times[0], times[-1]]}


def _words(document: dict) -> str:
    size = f"{document['width']}x{document['height']}"
    if "fps" not in document:
        return f"{size}, t = {document['times'][-1]:g} s"
    return f"{size}, {console.plural(document['pictures'], 'picture')}, {document['pictures'] / document['fps']:.3g} s"
