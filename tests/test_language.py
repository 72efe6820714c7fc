"""The language of device code: each trick stands where its table says, and each test that it names is there."""

import re
from pathlib import Path

import pytest

from simcli.kernels import language
from simcli.kernels.device.runtime import compile_thoroughly
from simcli.kernels.language import procedures, ti
from simcli.kernels.language.backend import configuration
from simcli.kernels.language.procedures import procedure
from simcli.kernels.memory.arena import Arena

LEAST_GAIN = 1.2


def rows_of_table():
    """(file, name in it, gain, file of the test, test) of each trick."""
    _, *lines = language.__doc__.partition("    Trick ")[2].strip().splitlines()
    rows = (re.split(r" {2,}", line.strip()) for line in lines)
    return [(*trick.split("."), gain, *test.split(".")) for trick, _, gain, _, test in rows]


@pytest.mark.parametrize("row", rows_of_table(), ids=lambda row: ".".join(row[:2]))
def test_a_trick_and_its_test_are_where_the_table_says(row):
    file, name, gain, test_file, test = row
    room = Path(language.__file__).parent
    place = next(path for path in (room / f"{file}.py", *room.parent.rglob(f"{file}.py")) if path.exists())
    assert re.search(rf"\b{name}\b", place.read_text(encoding="utf-8"))
    assert f"def test_{test}(" in Path(__file__).with_name(f"test_{test_file}.py").read_text(encoding="utf-8")
    assert gain == "all" or float(gain) >= LEAST_GAIN


@procedure
def add_to(slot: ti.template(), w: ti.i32, k: ti.i32, x: ti.f64):
    slot.store(w, k, slot.load(w, k) + x)


@pytest.mark.parametrize("backends", [procedures.CALLING, ()])
def test_a_procedure_is_compiled_once_and_called_or_inlined(device, monkeypatch, backends):
    monkeypatch.setattr(procedures, "CALLING", backends)
    arena, built = Arena(device, 1), []
    slot = arena.slot(3)
    arena.build()
    monkeypatch.setattr(procedures, "own_variables", lambda own=procedures.own_variables: built.append(True) or own())

    @ti.kernel
    def twice(s: ti.template()):
        for w in range(arena.n_blocks):
            arena.enter(w)
            for k in range(3):
                add_to(s, w, k, 1.0)
            add_to(s, w, 1, 10.0)

    arena.launch(twice, slot)
    assert slot.read()[0, :, 0].tolist() == [1.0, 11.0, 1.0]
    assert len(built) == (1 if backends else 0)
    arena.destroy()


def test_only_what_is_compiled_thoroughly_is(device):
    assert not configuration().advanced_optimization
    compile_thoroughly()
    assert configuration().advanced_optimization
    compile_thoroughly(False)
    assert not configuration().advanced_optimization
