"""Scenes read from files, out of results and from texts."""

import os
from collections.abc import Iterable

from simcli.errors import Fault, SceneError, Where
from simcli.spec.base.scene_files import HeldPath
from simcli.spec.document.overrides import VARY_TABLE, Override, is_of_batch, own_key
from simcli.spec.document.scene_file import Document, HeldScene, ReadRun, SceneReader, as_override
from simcli.spec.resolve import resolve


def load_document(path: str | os.PathLike, sets: Iterable[str | Override] = (), read_run: ReadRun | None = None) -> Document:
    """Read a scene with its includes and overrides; nothing is evaluated yet.

    Args:
        path: scene file.
        sets: overrides `KEY.PATH=VALUE` in order, VALUE in YAML; or values of other options.
        read_run: see `Document`.

    Raises:
        SceneError: with all faults of syntax; the places know their text (SceneError.document renders snippets).
    """
    path = os.fspath(path)
    try:
        reader = SceneReader(path, resolve)
    except (OSError, ValueError, RuntimeError) as problem:
        message = f"cannot read `{path}`: {problem}".replace("\x00", "?")
        raise SceneError([Fault("SC110", message, Where(path, 0, 0))]) from None
    reader.document.read_run = read_run
    own = [as_override(one) for one in sets]
    reader.document.typed = frozenset(own)
    return reader.read(own)


def load_held(held: HeldScene, path: str, sets: Iterable[str | Override] = (), read_run: ReadRun | None = None) -> Document:
    """Read a scene as it stands in a result, with the overrides that it was run with, and others after them.

    Args:
        held: what the result has of it.
        path: of the result; messages call the scene `path#name`.
        sets: as of `load_document`; a key that they vary is no longer varied as it was, and with a table of theirs nothing
            of the batch is as it was, its seed left out.
        read_run: see `Document`.

    Raises:
        SceneError: as of `load_document`.
    """
    texts = dict(held.sources)
    name = next(iter(texts))
    place = HeldPath({**held.files, **{key: text.encode() for key, text in texts.items()}}, name)
    own = [as_override(one) for one in sets]
    said = {own_key(one) for one in own} - {None}
    kept = [one for one in held.overrides if own_key(one) not in said]
    if any(one.option == VARY_TABLE for one in own):
        kept = [one for one in kept if not is_of_batch(one)]
    reader = SceneReader(f"{path}#{name}", resolve, place)
    reader.document.typed = frozenset(own)
    reader.document.read_run = read_run
    reader.document.worlds = held.worlds
    return reader.read([*kept, *own])


def document_of_text(text: str, path: str, sets: Iterable[str] = ()) -> Document:
    """Read a scene that stands in another file, as the resolved scene in a result; it includes nothing.

    Args:
        text: the scene.
        path: what messages call it; files that it names are looked for in the folder of this path.
        sets: as of `load_document`.

    Raises:
        SceneError: with all faults of syntax.
    """
    return SceneReader(path, resolve).read(list(sets), text)
