"""The gallery of the manual: whole, small, and what its commands draw."""

import re

import numpy as np
import pytest
from PIL import Image
from support.gallery import DOCS, PAGE, ROOT, entries, made, shrunk

from simcli.cli import doorman
from simcli.errors import Exit

ENTRIES = entries()
MOST_BYTES = 60_000
DRAWN, SMALL = "320x180", (160, 90)
# Of 255: the committed pictures have 256 colours, and the small ones are drawn with fewer rays for the same area.
MEAN, FEW = 3.0, 12.0
QUICK = ["double_pendulum"]


def command(words):
    assert doorman.run_command(words, debug=False, as_json=False) == Exit.OK


def test_the_page_names_twelve_scenes_and_their_pictures():
    assert len(ENTRIES) == 12
    assert len(re.findall(r"^## ", PAGE.read_text(), re.MULTILINE)) == 12
    assert {entry.picture for entry in ENTRIES} == set((DOCS / "gallery").iterdir())
    for entry in ENTRIES:
        assert (ROOT / entry.run[1]).is_file()
        assert entry.picture.stem in entry.run[1]
        assert entry.render[1] == f"outputs/{entry.picture.stem}.h5"
        assert entry.text.endswith(".")


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.picture.stem)
def test_pictures_are_small_and_show_something(entry):
    assert entry.picture.stat().st_size <= MOST_BYTES
    with Image.open(entry.picture) as image:
        assert f"{image.width}x{image.height}" in entry.render
        colours = np.asarray(image.convert("RGB")).astype(int)
    vivid = np.ptp(colours, axis=2) > 60
    assert 0.003 < vivid.mean() < 0.5  # bodies before a pale ground


def check(entry, folder):
    drawn = shrunk(made(entry, folder, command, DRAWN), SMALL).astype(float)
    with Image.open(entry.picture) as image:
        kept = shrunk(np.asarray(image.convert("RGB")), SMALL).astype(float)
    off = np.abs(drawn - kept).max(axis=2)
    assert off.mean() < MEAN
    assert np.quantile(off, 0.97) < FEW
    # Another instant, or nothing but the ground, would not pass.
    mirrored = np.abs(drawn[:, ::-1] - kept).max(axis=2)
    assert np.quantile(mirrored, 0.97) > 2 * FEW or mirrored.mean() > 2 * off.mean()


@pytest.mark.parametrize("name", QUICK)
def test_a_picture_is_what_its_commands_draw(name, tmp_path):
    check(next(entry for entry in ENTRIES if entry.picture.stem == name), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("entry", [entry for entry in ENTRIES if entry.picture.stem not in QUICK],
                         ids=lambda entry: entry.picture.stem)  # fmt: skip
def test_every_picture_is_what_its_commands_draw(entry, tmp_path):
    check(entry, tmp_path)
