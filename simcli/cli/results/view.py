"""`simcli view`: a page that shows the motion."""

import re
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from simcli.cli import console
from simcli.cli.options import (
    OUTPUTS,
    Channels,
    FixInertia,
    JsonFlag,
    PackagePath,
    ReplaceForeign,
    SetValues,
    existing_file,
    output_option,
    page_to_write,
    parse_worlds,
    split_words,
)
from simcli.errors import Exit, UsageError

_POSE_BYTES = 16  # of a pose in the page: 12, in base64
_MOST_POSES = 12e6  # [B] of poses that are shown unasked
_GRID = re.compile(r"([1-9][0-9]{0,3})x([1-9][0-9]{0,3})")
_OF_STARTS = "--set, --package-path and --fix-inertia change what is shown at its start; the look of a run: --look SCENE"
_MOST_WORLDS = 9  # that are shown unasked
MOST_PAGE_BYTES = 100e6  # [B] that are written unasked
PROGRAM = 0.7e6  # [B] of a page without frames

_RunOrScene = Annotated[
    Path,
    typer.Argument(
        metavar="FILE|SCENE",
        help="Output of `simcli run` (HDF5), a scene (YAML), or a result of `simcli fk`, `ik`, `id`.",
        callback=existing_file,
        show_default=False,
    ),
]
_Worlds = Annotated[
    str | None, typer.Option("--world", metavar="I,J", help="Worlds, as 3 or 0,4 or 0-7. Default: the first few.")
]
_Grid = Annotated[
    str, typer.Option("--grid", metavar="COLUMNSxROWS", help="Worlds side by side, as 4x4.", show_default=False)
]
_Overlay = Annotated[bool, typer.Option("--overlay", help="Worlds in one picture, all but one as ghosts.")]
_Every = Annotated[int | None, typer.Option("--every", metavar="N", min=1, help="Every N-th frame only.", show_default="1")]
_Look = Annotated[
    Path | None,
    typer.Option(
        "--look", metavar="SCENE", help="Colours and cameras of this scene.", callback=existing_file, show_default=False
    ),
]
_States = Annotated[
    Path | None,
    typer.Option(
        "--states",
        metavar="FILE",
        help="The scene at these states, one after the other: a run, a result or a CSV table.",
        callback=existing_file,
        show_default=False,
    ),
]
_Page = Annotated[Path | None, output_option("Page to write.", page_to_write, show_default="FILE.html, outputs/SCENE.html")]
_Open = Annotated[bool, typer.Option("--open", help="Show it in the browser.")]


def view(
    file: _RunOrScene,
    world: _Worlds = None,
    grid: _Grid = "",
    overlay: _Overlay = False,
    every: _Every = None,
    channel: Channels = [],  # noqa: B006
    look: _Look = None,
    states: _States = None,
    output: _Page = None,
    open_: _Open = False,
    sets: SetValues = [],  # noqa: B006
    package_path: PackagePath = [],  # noqa: B006
    fix_inertia: FixInertia = False,
    force: ReplaceForeign = False,
    json: JsonFlag = False,
) -> int:
    """Write one HTML file that plays the motion in any browser, without network: turn, scrub, compare worlds, follow curves.

    A run may still be going on; a scene is shown at its start, or at the states of --states. Colours, cameras and
    shapes that are only seen: `look`.
    Example: simcli view outputs/swing.h5 --open
    Example: simcli view outputs/batch.h5 --world 0,3,17 --overlay -c joint.pin.q
    """
    from simcli.records.drafts import claim_path
    from simcli.view.page.content import Content

    columns, most = _columns_of(grid, overlay)
    worlds = parse_worlds(world) if world is not None else None
    if worlds and columns and len(worlds) > most:
        raise UsageError(f"--grid {grid} has room for {console.plural(most, 'world')}, and --world names {len(worlds)}")
    changes = [*sets, *_reading(file, package_path, fix_inertia)]
    with ExitStack() as opened:
        if _is_of_states(file, states):
            if channel or look or columns or overlay or len(worlds or (0,)) > 1:
                raise UsageError("--channel, --look, --grid, --overlay and several worlds are of runs, not of states")
            made = _of_states(file, states, changes, worlds, every or 1)
        elif _is_run(file):
            if changes:
                raise UsageError(_OF_STARTS)
            made = _of_run(file, opened, worlds, most, every or 1, look, channel)
        else:
            if channel or every or look:
                raise UsageError("--channel, --every and --look are of runs: simcli run SCENE first")
            made = _of_start(file, changes, worlds, most or _MOST_WORLDS)
        subject, groups, n_frames, usual = made
        target = output or usual
        claim_path(target, force, [file, *([states] if states else [])])
        content = Content(subject, slice(0, None, every or 1), groups)
        _say_size(target, content, n_frames, every)
        _write(content, _arranged(subject.worlds, columns, overlay), target, n_frames)
        facts = _facts(content, target)
    _say_written(target, facts)
    if json:
        console.emit("view", facts)
    if open_:
        _open(target)
    return Exit.OK


def _reading(file: Path, package_path: list[Path], fix_inertia: bool) -> list:
    """How a model of another format is read."""
    from simcli.exchange.importing import import_overrides

    return import_overrides(file, package_path, fix_inertia) if package_path or fix_inertia else []


def _is_run(file: Path) -> bool:
    from simcli.records.hdf5_bytes import is_hdf5

    return is_hdf5(file)


def _is_of_states(file: Path, states: Path | None) -> bool:
    """Whether it is states that are seen: of --states, or of a result."""
    from simcli.records.reading.result_reader import is_result

    return states is not None or (_is_run(file) and is_result(file))


def _of_states(file: Path, states: Path | None, changes: list, worlds: list[int] | None, every: int):
    """What is seen of states, its curves, the number of its frames, and the usual name of its page."""
    from simcli.view.subject import subject_of_states

    subject = subject_of_states(file, states, changes, worlds)
    n_frames = len(range(0, subject.motion().n_frames, every))
    return subject, [], n_frames, (states or file).with_suffix(".html")


def _of_run(file: Path, opened: ExitStack, worlds: list[int] | None, most: int, every: int, look: Path | None, channel):
    """The same of a run."""
    from simcli.records.reading.reader import open_trajectory
    from simcli.view.page.curves import groups_of
    from simcli.view.subject import subject_of_run

    run = opened.enter_context(open_trajectory(file))
    subject = subject_of_run(run, worlds, most or _few(run, every), look)
    groups = groups_of(run, split_words("--channel", channel))
    return subject, groups, len(range(0, run.n_frames, every)), file.with_suffix(".html")


def _of_start(file: Path, changes: list, worlds: list[int] | None, most: int):
    """The same of a scene at its start."""
    from simcli.view.subject import subject_of_scene

    subject = subject_of_scene(file, changes, worlds, most)
    return subject, [], 1, OUTPUTS / f"{subject.spec.name}.html"


def _say_written(target: Path, facts: dict) -> None:
    for note in facts["notes"]:
        console.note(note)
    size = console.size_text(facts["bytes"])
    console.say(f"wrote {target} ({size}, positions within {1e3 * facts['position_error_m']:.2g} mm)")


def _columns_of(grid: str, overlay: bool) -> tuple[int, int]:
    """Columns of --grid and the number of its places; 0 and 0 where it is not given."""
    if not grid:
        return 0, 0
    if overlay:
        raise UsageError("--grid and --overlay contradict each other: keep one of them")
    found = _GRID.fullmatch(grid.lower())
    if not found:
        raise UsageError(f"--grid: `{grid[:40]}` is not COLUMNSxROWS: write 4x4")
    columns, rows = map(int, found.groups())
    return columns, columns * rows


def _few(run, every: int) -> int:
    """So many worlds that the page stays small."""
    frames = max(1, run.n_frames // every)
    return int(max(1, min(_MOST_WORLDS, _MOST_POSES // (_POSE_BYTES * frames * max(1, len(run.bodies))))))


def _arranged(worlds: tuple[int, ...], columns: int, overlay: bool) -> dict:
    """How the worlds are shown at first."""
    mode = "ghosts" if overlay and len(worlds) > 1 else "grid" if columns or len(worlds) > 1 else "one"
    return {"mode": mode, "shown": list(range(len(worlds))), "columns": columns}


def _say_size(target: Path, content, n_frames: int, every: int | None) -> None:
    """Say how large the page will be, before it is written.

    Raises:
        UsageError: it would be too large for a browser, and nobody asked for every frame of it.
    """
    subject, size = content.subject, content.estimate(n_frames)
    what = ", ".join(
        (
            console.plural(n_frames, "frame"),
            console.plural(len(subject.worlds), "world"),
            console.plural(len(subject.drawings[0].bodies), "body"),
        )
    )
    if size > MOST_PAGE_BYTES and every is None:
        enough = -int(-size // MOST_PAGE_BYTES)
        raise UsageError(
            f"{what} make a page of about {console.size_text(size)}, too large for many browsers: "
            f"thin them with --every {enough}, or take fewer worlds with --world; --every 1 writes all"
        )
    console.say(f"{target}: {what}, about {console.size_text(PROGRAM + size + content.mesh_bytes())}")


def _write(content, view: dict, target: Path, n_frames: int) -> None:
    from simcli.cli.progress import fraction_shown
    from simcli.records.drafts import written
    from simcli.view.page.html_page import write_page

    with fraction_shown("writing") as show, written(target) as stream:
        write_page(content, view, stream, done=lambda frames: show(frames / max(n_frames, 1)))


def _facts(content, target: Path) -> dict:
    """What was written, as JSON has it."""
    subject = content.subject
    drawing = subject.drawings[0]
    return {
        "path": target,
        "bytes": target.stat().st_size,
        "frames": content.n_frames,
        "worlds": subject.worlds,
        "bodies": len(drawing.bodies),
        "position_error_m": content.error,
        "notes": [*subject.notes, *drawing.notes],
    }


def _open(target: Path) -> None:
    import webbrowser

    if not webbrowser.open(target.resolve().as_uri()):
        console.say(f"no browser was found here: open {target} in one")
