"""Which simcli this is: its version, and the commit that it was made from.

A wheel and an sdist bring both in release.txt. A checkout has the version in pyproject.toml, and the commit in git.
"""

from functools import cache
from pathlib import Path

_HOUSE = Path(__file__).parent


@cache
def version() -> str:
    """The version, as in pyproject.toml."""
    if stamp := _stamp():
        return stamp[0]
    import tomllib

    return str(tomllib.loads((_HOUSE.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"])


@cache
def commit() -> str:
    """The commit, in hexadecimal; "" where neither the package nor git tells it."""
    stamp = _stamp()
    if stamp:
        return stamp[1] if len(stamp) > 1 else ""
    try:
        return _head(_HOUSE.parent / ".git")
    except OSError:
        return ""


def _stamp() -> list[str]:
    try:
        return (_HOUSE / "release.txt").read_text(encoding="utf-8").split()
    except FileNotFoundError:
        return []


def _head(folder: Path) -> str:
    """The commit that the checkout of a git directory is at, without starting git."""
    if folder.is_file():  # of a further worktree
        folder = folder.parent / folder.read_text().removeprefix("gitdir:").strip()
    head = (folder / "HEAD").read_text().strip()
    if not head.startswith("ref: "):
        return head
    name = head.removeprefix("ref: ")
    shared = folder / "commondir"
    common = folder / shared.read_text().strip() if shared.is_file() else folder
    if (common / name).is_file():
        return (common / name).read_text().strip()
    packed = [line.split() for line in (common / "packed-refs").read_text().splitlines()]
    return next((words[0] for words in packed if words[1:] == [name]), "")
