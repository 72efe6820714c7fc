"""Digests of simcli's own code: of what decides the bytes of a run, and of what decides its kernels."""

from collections.abc import Iterable
from functools import cache
from hashlib import blake2b
from pathlib import Path

_HOUSE = Path(__file__).parent
CODE = ("kernels", "solvers", "model")  # rooms whose code decides what the bytes are
BELOW = ("spec", "rotations")  # rooms that those import, besides the modules of the house that stand in no room


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
