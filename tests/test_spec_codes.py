"""Every fault code has a page whose failing example has that fault and whose mended example has none."""

import re
from pathlib import Path

import pytest

from simcli.errors import SceneError
from simcli.spec import load_document, resolve
from simcli.spec.faults import codes
from simcli.spec.resolve import warnings

ROOM = Path(__file__).parent.parent / "simcli"
NO_EXAMPLE = ("SC451", "SC455", "SC461")  # guards of the model behind checks of the spec


def faults(tmp_path, page, text, sets=()):
    folder = tmp_path / "scene"
    folder.mkdir(exist_ok=True)
    for name, content in page.files.items():
        (folder / name).write_text(content)
    path = folder / "scene.yaml"
    path.write_text(page.scene(text))
    try:
        document = load_document(path, sets)
        spec = resolve(document)
        if page.stage in ("model", "check"):
            from simcli.model import build

            model = build(spec, document)
        if page.stage == "check":
            from simcli.cli.scenes.check import start_faults

            return {fault.code for fault in start_faults(document, spec, model)}
    except SceneError as error:
        return {fault.code for fault in error.faults}
    return {fault.code for fault in warnings(document)}


@pytest.mark.parametrize("code", codes.codes())
def test_examples(tmp_path, code, request):
    page = codes.code_page(code)
    if code not in ("SC501", "SC502"):  # what solvers honour changes; what a scene means does not
        request.getfixturevalue("all_honoured")
    assert page.title
    assert page.why
    if page.stage == "run" or code in NO_EXAMPLE:
        assert not page.bad
        return
    assert faults(tmp_path, page, page.bad, page.sets) == {code, *page.also}
    assert faults(tmp_path, page, page.good) == set()


def test_every_code_in_the_source_has_a_page():
    used = set()
    for path in ROOM.rglob("*.py"):
        used |= set(re.findall(r"\bSC\d{3}\b", path.read_text(encoding="utf-8")))
    assert used <= set(codes.codes())


def test_every_page_is_of_a_code_in_the_source():
    text = "".join(path.read_text(encoding="utf-8") for path in ROOM.rglob("*.py"))
    assert [code for code in codes.codes() if code not in text] == []


def test_text_of_a_page():
    text = str(codes.code_page("SC204"))
    assert text.startswith("SC204: An unknown key\n")
    assert "mas: 1.0" in text
    assert "Mended:" in text
