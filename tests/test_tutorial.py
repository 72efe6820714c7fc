"""The tutorial, line by line: every command runs, in order, and answers what the page shows."""

import pytest
from support.pages import REST, answers, blocks, page, run_block


@pytest.mark.parametrize(
    ("shown", "said", "fits"),
    [(["a 1.0", "b"], ["a 1.01", "b"], True), (["a 1.0"], ["a 1.1"], False), (["a", REST, "c 2"], ["a", "b", "c 2"], True),
     (["a", REST, "c"], ["a", "b"], False), (["in ..."], ["in 3 s"], True), (["in ..."], ["on 3 s"], False),
     (["a  1"], ["a 1"], True), (["b"], ["a", "b"], False)],
)  # fmt: skip
def test_the_comparison_sees_what_differs(shown, said, fits):
    assert (answers(shown, said) is None) == fits


def test_every_line_of_the_tutorial(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    n_commands = 0
    for kind, block in blocks(page("tutorial")):
        if kind == "yaml":  # a part of the scene, as it stands there
            assert block in (tmp_path / "crank.yaml").read_text()
        elif kind == "python":
            exec(compile(block, "tutorial.md", "exec"), {})
            assert capfd.readouterr().out.startswith("0.1025")
        else:
            assert kind == "console"
            n_commands += run_block(block, capfd)
    assert n_commands > 12
    assert {path.name for path in tmp_path.glob("*.png")} == {"effort.png", "torque.png"}
