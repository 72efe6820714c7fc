"""Which simcli this is: its version, the commit that it was made from, and digests of its own code.

A wheel and an sdist bring the first two in release.txt. A checkout has the version in pyproject.toml, and the commit in git.
"""

from collections.abc import Iterable
from functools import cache
from hashlib import blake2b
from pathlib import Path

_HOUSE = Path(__file__).parent
CODE = ("kernels", "solvers", "model")  # rooms whose code decides what the bytes are
BELOW = ("spec", "rotations")  # rooms that those import, besides the modules of the house that stand in no room


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


@cache
def code_digest() -> str:
    """Digest of the code that decides what the bytes are, when it is asked for first."""
    return _digest_of(path for room in CODE for path in (_HOUSE / room).rglob("*.py"))


@cache
def traced_digest() -> str:
    """Digest of all code from which a kernel can read anything when it is traced."""
    below = _digest_of([*_HOUSE.glob("*.py"), *(path for room in BELOW for path in (_HOUSE / room).rglob("*.py"))])
    return code_digest() + below


def _digest_of(paths: Iterable[Path]) -> str:
    whole = blake2b(digest_size=16)
    for path in sorted(paths):
        whole.update(path.relative_to(_HOUSE).as_posix().encode() + b"\0" + path.read_bytes())
    return whole.hexdigest()
