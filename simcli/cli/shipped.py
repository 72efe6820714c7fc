"""Scenes that come with the program."""


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
