"""Where scenes come from but files of our own: those that come with the program, and models of other formats."""

from pathlib import Path

from simcli.cli import console
from simcli.errors import OutputError, first_few

_TOLD = 3  # names of elements that meet one fate for one reason


def shipped_scenes(folder: str) -> dict[str, str]:
    """Texts of the scenes of a folder of simcli/docs, by name; the first line of each is a comment that says what it is.

    Args:
        folder: `templates`, to start from, or `bundles`, one for each kind of kernels.
    """
    from importlib.resources import files

    entries = files("simcli").joinpath("docs", folder).iterdir()
    found = sorted((entry for entry in entries if entry.name.endswith(".yaml")), key=lambda entry: entry.name)
    return {entry.name.removesuffix(".yaml"): entry.read_text(encoding="utf-8") for entry in found}


def first_line(text: str) -> str:
    """What a shipped scene is."""
    return text.splitlines()[0].lstrip("# ")


def write_with_meshes(target: Path, found, force: bool) -> None:
    """Write a file and the meshes that it names; nothing outside of its folder.

    Args:
        target: of the file.
        found: its `text` or `data`, and `files` by their paths relative to it.
        force: whether meshes may replace others, of the same name, beside the file.

    Raises:
        OutputError: one of them cannot be written, or would replace another one.
    """
    from simcli.records.drafts import drafted, written

    meshes = {target.parent / name: data for name, data in found.files.items()}
    taken = [] if force else [path for path, data in meshes.items() if path.exists() and not _holds(path, data)]
    if taken:
        more = f", and {len(taken) - 1} more" if len(taken) > 1 else ""
        raise OutputError(
            f"{taken[0]} exists{more}, and is not what would be written there: choose another name by -o, or add --force"
        )
    for path, data in meshes.items():
        if not _holds(path, data):
            with drafted(path) as draft:
                draft.write_bytes(data)
    if found.data:
        with drafted(target) as draft:
            draft.write_bytes(found.data)
        return
    with written(target) as stream:
        stream.write(found.text)


def _holds(path: Path, data: bytes) -> bool:
    """Whether a file has these bytes."""
    return path.is_file() and path.stat().st_size == len(data) and path.read_bytes() == data


def say_report(report) -> None:
    """The sums of a report, and what was changed or dropped with the reason, on stderr."""
    notes = report.count_notes()
    apart = f", {notes} of which do not affect the motion" if notes else ""
    console.say("elements: " + ", ".join(f"{count} {fate}" for fate, count in report.counts().items()) + apart)
    for fate in ("changed", "dropped"):
        for kind, why, entries in report.sums(fate):
            names = [f"{entry.name or kind}:{entry.line}" if entry.line else entry.name or kind for entry in entries]
            console.say(f"  {fate} {len(entries)} {kind} ({first_few(names, _TOLD)}): {why}")


def say_imported(document, scene: Path) -> None:
    """Say in a line that a scene was made of a model, if it was, and what that lost."""
    report = document.cache.get("imported")
    if report is not None:
        counts = ", ".join(f"{count} {fate}" for fate, count in report.counts().items() if count)
        console.say(f"{scene}: read as the scene that `simcli import` makes of it (elements: {counts})")
