"""Files of runs that somebody has changed."""

import h5py

from simcli.records.integrity.verification import verify


def assert_damage_is_named(path, copy, change, message):
    """`verify` finds nothing in a file, and says `message` of a copy of it that `change` was called with."""
    assert verify(path) == []
    copy.write_bytes(path.read_bytes())
    with h5py.File(copy, "r+") as file:
        change(file)
    assert any(message in problem for problem in verify(copy)), verify(copy)
