"""The page on selection says what happens: its scene loads, its commands run, its Python holds."""

import re
import shlex
from importlib.resources import files

import pytest
from support.process import simcli

import simcli as package

PAGE = files("simcli").joinpath("docs/selection.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    scene = blocks("yaml")[0]
    (tmp_path / "robots.yaml").write_text(scene)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_python_of_the_page_holds(folder, device):
    names = {}
    for block in blocks("python"):
        exec(compile(block, "selection.md", "exec"), names)
    assert names["carts"].get_root_transforms(names["state"]).shape == (4, 2, 7)
    assert sum(block.count("assert") for block in blocks("python")) >= 8


@pytest.mark.slow
def test_the_commands_of_the_page_run(folder):
    (commands,) = blocks("console")
    for line in commands.splitlines():
        done = simcli(*shlex.split(line)[1:], cwd=folder)
        assert done.returncode == 0, done.stderr
    with package.open(folder / "carts.h5") as run:
        assert run.joints == (*(f"row/{k}-0-0/elbow" for k in range(3)), *(f"fleet/{k}-0-0/slew" for k in range(2)),
                              *(f"fleet/{k}-0-0/deck_free" for k in range(2)))  # fmt: skip
    assert "joint.fleet/1-0-0/slew.q" in (folder / "slew.csv").read_text().splitlines()[0]


def test_the_selection_of_the_page_s_scene_is_what_it_says(folder):
    done = simcli("run", "robots.yaml", "-q", "-o", "run.h5", cwd=folder)
    assert done.returncode == 0, done.stderr
    with package.open(folder / "run.h5") as run:
        assert len(run.bodies) == 6 + 2
        assert not [name for name in run.joints if name.endswith("_free")]
        assert abs(run.joint("row/2-0-0/shoulder").q[0] - 0.1).max() == 0
        assert abs(run.joint("row/2-0-0/elbow").q[0] - 1.0).max() == 0
