"""A column of worlds out of an earlier run: what `from` of a batch takes."""


def column_of(path: str, name: str) -> tuple[list[float], str]:
    """One number per world of a run.

    Args:
        path: of the file.
        name: of a column of `simcli table`, as `measure.best` or a varied path.

    Returns:
        (n_worlds,) and the unit.

    Raises:
        FileError: the file is damaged or no run.
        UsageError: it has no such column.
    """
    from pathlib import Path

    from simcli.analysis.worlds.world_table import read_files
    from simcli.errors import UsageError

    column = read_files([Path(path)]).column(name)
    if column.has_words:
        raise UsageError(f"`{name}` of {path} holds words")
    return [float(value) for value in column.values], column.unit
