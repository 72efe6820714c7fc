"""Some worlds of a batch: the bytes that they have in the whole of it, with every solver, and their numbers in the batch."""

import numpy as np
import pytest
from support.runs import SWING, committed, differing, worlds_of

import simcli
from simcli import pipeline
from simcli.cli import doorman
from simcli.errors import Exit, UsageError
from simcli.solvers import SOLVERS

WORLDS = 7
CHOSEN = (5, 1, 2)
SLOW = ("maximal", "natural")  # to compile
FAST = 4.0  # [rad/s], too fast for the run: the worlds that begin with more fail
VARY = "batch={worlds: 7, seed: 3, vary: {joints.pin.qd: {linspace: [0, 5]}, bodies.lower.mass: {uniform: [0.5, 2]}}}"
LIMIT = f"solver.max_velocity={FAST}"


def command(words):
    """Exit code of a command."""
    return doorman.run_command(list(map(str, words)), debug=False, as_json=False)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Function that runs worlds of the batch with a solver, once: outcome and path."""
    folder = tmp_path_factory.mktemp("worlds")
    short = SWING.replace(", integrator: rk4", "").replace("{duration: 0.06}", "{duration: 0.02}")
    (folder / "swing.yaml").write_text(short)
    made = {}

    def outcome(solver, worlds=None, *sets):
        key = (solver, worlds, sets)
        if key not in made:
            asked = pipeline.Request(folder / "swing.yaml", folder / f"{len(made)}.h5",
                                     (VARY, f"solver.type={solver}", *sets), "cpu", worlds=worlds)  # fmt: skip
            made[key] = pipeline.execute(pipeline.prepare(asked))
        return made[key]

    return outcome


@pytest.mark.parametrize("solver", [pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in SOLVERS])
def test_any_of_them_have_the_bytes_of_the_whole(run, solver):
    whole, some = (committed(run(solver, worlds, LIMIT).output) for worlds in (None, CHOSEN))
    failed = np.isnan(whole["frames/joint_q"][-1]).any(axis=-1)
    assert failed[5]
    assert not failed[1]
    assert not differing(worlds_of(some, slice(None)), worlds_of(whole, list(CHOSEN)))


def test_they_keep_their_numbers(run):
    whole, some = (run("generalized", worlds, LIMIT) for worlds in (None, CHOSEN))
    assert [failure.world for failure in whole.failures] == [5, 6]
    assert [failure.world for failure in some.failures] == [5]
    assert some.failures == whole.failures[:1]
    with simcli.open(whole.output) as a, simcli.open(some.output) as b:
        assert b.provenance.worlds == CHOSEN
        assert a.provenance.worlds is None
        assert b.params["joints.pin.qd"].tolist() == a.params["joints.pin.qd"][list(CHOSEN)].tolist()
        assert b.world_seed.tolist() == a.world_seed[list(CHOSEN)].tolist()


def test_a_run_of_some_is_run_again_from_its_file(run, tmp_path, capsys):
    first = run("generalized", CHOSEN, LIMIT).output
    assert command(["run", str(first), "-o", str(tmp_path / "a.h5"), "-q", "--device", "cpu"]) == 4
    with simcli.open(first) as one, simcli.open(tmp_path / "a.h5") as two:
        assert one.digest == two.digest
    cut = tmp_path / "cut.h5"
    assert command(["slice", str(first), "-o", str(cut), "--world", "0,2"]) == Exit.OK
    with simcli.open(cut) as part:
        assert part.provenance.worlds == (CHOSEN[0], CHOSEN[2])
    capsys.readouterr()


def test_the_command_takes_several_and_refuses_what_is_not_there(run, tmp_path, monkeypatch, capsys):
    path = run("generalized", None, LIMIT).output.with_name("swing.yaml")
    monkeypatch.chdir(tmp_path)
    words = ["run", str(path), "--set", VARY, "-q", "--device", "cpu", "--world"]
    assert command([*words, "4,0-1"]) == Exit.OK
    with simcli.open("outputs/swing-world0-4.h5") as found:
        assert found.provenance.worlds == (0, 1, 4)
    assert command([*words, "5-8"]) == Exit.USAGE
    assert "--world 7: the batch has worlds 0 to 6" in capsys.readouterr().err
    with pytest.raises(UsageError, match="--world 9"):
        pipeline.prepare(pipeline.Request(path, sets=(VARY,), worlds=(9,)))


def test_worlds_that_cannot_begin_are_failures_where_all_are_tried(run, tmp_path):
    path = run("generalized", None, LIMIT).output.with_name("swing.yaml")
    sets = ("joints.pin.limit=[1.9, 2.1]", "batch={worlds: 3, vary: {joints.pin.q: {list: [2, 2.5, 3]}}}")
    asked = pipeline.Request(path, tmp_path / "a.h5", sets, "cpu", worlds=(1, 2), tries_all=True)
    outcome = pipeline.execute(pipeline.prepare(asked))
    assert [(one.world, one.code) for one in outcome.failures] == [(1, "SC477"), (2, "SC477")]
