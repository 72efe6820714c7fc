"""What a sweep will run: names of cases, chunks, choices and their faults, the plan as a file. Nothing is run here."""

import gzip
from dataclasses import replace

import pytest
from support.runs import SWING

import simcli
from simcli.cli import process as cli_process
from simcli.errors import Exit, FileError, SceneError, UsageError
from simcli.spec.schema.sweep import OWN_COLUMNS
from simcli.sweeps.records import scenes
from simcli.sweeps.records.plan import GRAIN, LONGEST, Cost, cases_at_once, plan_of
from simcli.sweeps.records.plan_file import NAME, forecast, read_plan, write_plan

SCENE = SWING.replace("solver: {", "params: {unused: 1.0}\nsolver: {").replace(", integrator: rk4", "")
GRID = "joints.elbow.damping={grid: [0.01, 0.02]}"
DRAWN = "batch={worlds: 3, seed: 5, vary: {joints.pin.q: {uniform: [0, 1]}, joints.elbow.damping: {grid: [0.01, 0.02]}}}"
SWEEP = """
sweep: 1
scene: swing.yaml
choices:
  solver.dt: [1e-3, "0.5 ms"]
  load: {light: {bodies.lower.mass: 0.5}, heavy: {bodies.lower.mass: "2 kg", joints.elbow.damping: 0.1}}
vary: {joints.pin.q: {uniform: [0, 1]}}
worlds: 3
seed: 4
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "swing.yaml").write_text(SCENE)
    (tmp_path / "sweep.yaml").write_text(SWEEP)
    return tmp_path


@pytest.fixture
def ids(folder):
    """Function: names of the cases of the scene with overrides, in order."""
    return lambda *sets, device="cpu": [case.id for case in plan_of(folder / "swing.yaml", sets, device=device).cases]


def write(folder, text):
    path = folder / "other.yaml"
    path.write_text(text)
    return path


# Names.


def test_names_do_not_depend_on_number_or_order_of_worlds(ids):
    whole = ids(DRAWN)
    assert len(set(whole)) == 6
    assert ids(DRAWN, "batch.worlds=2") == whole[:2] + whole[3:5]
    assert ids(DRAWN, "batch.vary.joints.elbow.damping={grid: [0.02, 0.01]}") == whole[3:] + whole[:3]
    longer = ids(DRAWN, "batch.worlds=4", "batch.vary.joints.elbow.damping={grid: [0.005, 0.01, 0.02]}")
    assert set(whole) < set(longer)
    assert len(longer) == 12
    other_order = "batch.vary={joints.elbow.damping: {grid: [0.01, 0.02]}, joints.pin.q: {uniform: [0, 1]}}"
    assert ids(DRAWN, other_order) == whole


def test_names_do_not_depend_on_words_and_pictures(ids, folder):
    whole = ids(DRAWN)
    assert (
        ids(DRAWN, "description=another", "look={background: white}", "name=other", "expect=[{max: energy.drift, below: 1}]")
        == whole
    )
    (folder / "swing.yaml").rename(folder / "swung.yaml")
    assert [case.id for case in plan_of(folder / "swung.yaml", (DRAWN,), device="cpu").cases] == whole


@pytest.mark.parametrize(
    "change",
    [
        "batch.seed=6",
        "batch.vary.joints.pin.q={uniform: [0, 1.0000000000000002]}",
        "solver.precision=float32",
        "solver.dt=5e-4",
        "run.duration=0.07",
        "bodies.lower.mass=1.0000000000000002",
        "measure={peak: {max: joint.pin.q}}",
        "params.unused=2",
    ],
)
def test_names_change_with_what_decides_about_numbers(ids, change):
    assert not set(ids(DRAWN)) & set(ids(DRAWN, change))


def test_names_change_with_version_code_and_device(ids, monkeypatch):
    found = [ids(DRAWN), ids(DRAWN, device="cuda")]
    with monkeypatch.context() as patched:
        patched.setattr(simcli, "__version__", "99.0")
        found.append(ids(DRAWN))
    with monkeypatch.context() as patched:
        patched.setattr("simcli.release.code_digest", lambda: "other")
        found.append(ids(DRAWN))
    assert len({name for some in found for name in some}) == 4 * 6


def test_names_change_with_the_files_that_a_scene_names(ids, folder):
    (folder / "push.csv").write_text("0,0\n1,1\n")
    sets = ("signals={push: {table: {file: push.csv}}}", "joints.pin.drive={mode: effort, target: $push}")
    before = ids(DRAWN, *sets)
    (folder / "push.csv").write_text("0,0\n1,2\n")
    assert not set(before) & set(ids(DRAWN, *sets))


# Choices.


def test_a_sweep_is_the_product_of_its_choices(folder):
    plan = plan_of(folder / "sweep.yaml", device="cpu")
    assert [dict(case.labels)["load"] for case in plan.cases[::3]] == ["light", "heavy"] * 2
    assert [dict(case.labels)["solver.dt"] for case in plan.cases[::3]] == [1e-3, 1e-3, 5e-4, 5e-4]
    assert dict(plan.units) == {"joints.pin.q": "rad", "solver.dt": "s"}
    assert [case.world for case in plan.cases] == [0, 1, 2] * 4
    drawn = [dict(case.labels)["joints.pin.q"] for case in plan.cases]
    assert drawn == drawn[:3] * 4  # the same draws in every structure
    assert [chunk.cases for chunk in plan.chunks] == [tuple(case.id for case in plan.cases[k : k + 3]) for k in (0, 3, 6, 9)]
    assert [name for name, _ in plan.sources] == [str(folder / "sweep.yaml"), str(folder / "swing.yaml")]
    assert (plan.keep, plan.time_limit, plan.device) == ("none", None, "cpu")


@pytest.mark.parametrize(
    ("more", "left"),
    [
        ("exclude: [{load: light}]", [(1e-3, "heavy"), (5e-4, "heavy")]),
        ('exclude: [{load: light, solver.dt: "0.5 ms"}]', [(1e-3, "light"), (1e-3, "heavy"), (5e-4, "heavy")]),
        ("only: [{load: [heavy, light], solver.dt: 1e-3}]", [(1e-3, "light"), (1e-3, "heavy")]),
    ],
)
def test_combinations_may_be_left_out(folder, more, left):
    plan = plan_of(write(folder, SWEEP + more), device="cpu")
    found = [dict(case.labels) for case in plan.cases[::3]]
    assert [(one["solver.dt"], one["load"]) for one in found] == left


def test_several_scenes_have_a_column(folder):
    (folder / "short.yaml").write_text(SCENE.replace("mass: 1.0", "mass: 0.7"))
    text = "sweep: 1\nscene: {long: swing.yaml, short: short.yaml}\nworlds: 2\n"
    assert [case.labels for case in plan_of(write(folder, text), device="cpu").cases] == [(("scene", "long"),)] * 2 + [
        (("scene", "short"),)
    ] * 2
    plan = plan_of(write(folder, "sweep: 1\nscene: [swing.yaml, short.yaml]\n"), device="cpu")
    assert [case.labels for case in plan.cases] == [(("scene", "swing"),), (("scene", "short"),)]


def test_what_a_sweep_includes_and_the_command_line_lay_over_it(folder):
    (folder / "limits.yaml").write_text("keep: failed\ntime_limit: 2 min\nmax_worlds: 2\nworlds: 7\n")
    path = write(folder, f"include: [limits.yaml]{SWEEP}")
    plan = plan_of(path, device="cpu")
    assert (plan.keep, plan.time_limit, [len(chunk.cases) for chunk in plan.chunks]) == ("failed", 120.0, [2, 1] * 4)
    plan = plan_of(
        path,
        ("batch.worlds=1", "bodies.lower.mass=3"),
        device="cpu",
        keep="all",
        time_limit=1.0,
        choices={"solver.dt": [2e-3]},
    )
    assert (plan.keep, plan.time_limit, len(plan.chunks)) == ("all", 1.0, 2)


@pytest.mark.parametrize(
    ("text", "code", "place", "said"),
    [
        ("sweep: 2\nscene: swing.yaml", "SC206", (1, 8), "write sweep: 1"),
        ("sweep: 1\nworlds: 3", "SC202", (1, 1), "add"),
        ("sweep: 1\nscene: swingg.yaml", "SC110", (2, 8), "did you mean `swing.yaml`?"),
        ("sweep: 1\nscene: [swing.yaml, no.yaml]", "SC110", (2, 21), ""),
        ("sweep: 1\nscene: [swing.yaml, swing.yaml]", "SC102", (2, 8), "keep one"),
        ("sweep: 1\nscene: swing.yaml\nchoises: {}", "SC204", (3, 1), "did you mean `choices`?"),
        ("sweep: 1\nscene: swing.yaml\nchoices: {solver.dt: 1e-3}", "SC203", (3, 22), "write [0.001]"),
        ("sweep: 1\nscene: swing.yaml\nchoices: {solver.dt: []}", "SC205", (3, 22), "at least one"),
        ("sweep: 1\nscene: swing.yaml\nchoices: {solver.dt: [1e-3, 3 kg]}", "SC213", (3, 29), ""),
        ("sweep: 1\nscene: swing.yaml\nchoices: {solver.dt: [1e-3, 1e-3]}", "SC102", (3, 29), "keep one"),
        ("sweep: 1\nscene: swing.yaml\nchoices: {solver..dt: [1]}", "SC113", (3, 24), "as solver.dt"),
        ("sweep: 1\nscene: swing.yaml\nchoices: {way: {a: {joints.elbw.q: 1}}}", "SC301", (3, 36), "did you mean `elbow`?"),
        ("sweep: 1\nscene: swing.yaml\nchoices: {way: {a: 3}}", "SC203", (3, 20), ""),
        ("sweep: 1\nscene: swing.yaml\nset: {bodies.lower.maas: 1}", "SC204", (3, 7), "did you mean `mass`?"),
        ("sweep: 1\nscene: swing.yaml\nvary: {joints.elbow.z: {uniform: [0, 1]}}", "SC303", (3, 24), ""),
        ("sweep: 1\nscene: swing.yaml\nmeasure: {p: {maxabs: joint.pin.q}}", "SC204", (3, 15), "did you mean `max_abs`?"),
        ("sweep: 1\nscene: swing.yaml\nexclude: [{solver.dx: 1}]", "SC301", (3, 23), ""),
        ("sweep: 1\nscene: swing.yaml\nchoices: {solver.dt: [1e-3]}\nonly: [{solver.dt: 2}]", "SC206", (4, 20), "values"),
        (
            "sweep: 1\nscene: swing.yaml\nchoices: {solver.dt: [1e-3]}\nexclude: [{solver.dt: 1e-3}]",
            "SC205",
            (4, 10),
            "leave",
        ),
        ("sweep: 1\nscene: swing.yaml\nkeep: al", "SC206", (3, 7), "did you mean `all`?"),
        ("sweep: 1\nscene: swing.yaml\ntime_limit: 5 m", "SC213", (3, 13), ""),
        ("sweep: 1\nscene: swing.yaml\nworlds: 0", "SC231", (3, 9), ""),
    ],
)
def test_faults_of_a_sweep_have_their_place(folder, text, code, place, said):
    with pytest.raises(SceneError) as caught:
        plan_of(write(folder, text), device="cpu")
    fault = caught.value.faults[0]
    assert (fault.code, (fault.where.line, fault.where.column)) == (code, place)
    assert fault.where.file.endswith("other.yaml")
    assert said in fault.hint
    assert caught.value.document.line(fault.where) == text.splitlines()[place[0] - 1]


@pytest.mark.parametrize("name", [*OWN_COLUMNS, "scene", "measure.peak"])
def test_a_choice_called_as_a_column_of_the_table_is_refused(folder, name):
    text = f"sweep: 1\nscene: swing.yaml\nchoices:\n  {name}: {{light: {{joints.pin.damping: 0.1}}}}\n"
    with pytest.raises(SceneError) as caught:
        plan_of(write(folder, text), device="cpu")
    fault = caught.value.faults[0]
    assert (fault.code, fault.where.line, fault.where.column) == ("SC206", 4, 3)
    assert f"`{name}` cannot name a choice" in fault.message
    assert "write another name" in fault.hint


def test_a_fault_of_one_choice_names_it(folder):
    (folder / "swing.yaml").write_text(SWING)  # with an integrator that others do not know
    text = "sweep: 1\nscene: swing.yaml\nchoices: {solver.type: [generalized, maximal], solver.dt: [1e-3, 5e-4]}\n"
    with pytest.raises(SceneError, match=r"`rk4` is not a value of `integrator` \(with solver.type = maximal\)") as caught:
        plan_of(write(folder, text), device="cpu")
    (fault,) = caught.value.faults
    assert fault.where.file == str(folder / "swing.yaml")


def test_the_same_case_twice_is_refused(folder):
    with pytest.raises(UsageError, match=r"two cases of the sweep are the same: \(bodies.lower.mass = 2.0\)"):
        plan_of(folder / "swing.yaml", ("batch.vary.bodies.lower.mass={grid: [2, 2]}",), device="cpu")
    with pytest.raises(UsageError, match=r"\(name = a\) and \(name = b\)"):
        plan_of(write(folder, "sweep: 1\nscene: swing.yaml\nchoices: {name: [a, b]}\n"), device="cpu")
    text = "sweep: 1\nscene: swing.yaml\nchoices: {bodies.lower.mass: [1, 2]}\nvary: {bodies.lower.mass: {grid: [1, 2]}}\n"
    with pytest.raises(UsageError, match=r"`bodies\.lower\.mass` is a choice of the sweep and varied"):
        plan_of(write(folder, text), device="cpu")


# Chunks.


def test_every_case_is_in_one_chunk(folder):
    plan = plan_of(folder / "sweep.yaml", ("batch.worlds=10",), device="cpu", max_worlds=4)
    assert [len(chunk.cases) for chunk in plan.chunks] == [4, 4, 2] * 4
    assert [case for chunk in plan.chunks for case in chunk.cases] == [case.id for case in plan.cases]
    assert [world for chunk in plan.chunks for world in chunk.worlds] == [case.world for case in plan.cases]
    assert len({chunk.id for chunk in plan.chunks}) == len(plan.chunks)
    assert plan == plan_of(folder / "sweep.yaml", ("batch.worlds=10",), device="cpu", max_worlds=4)


def test_what_is_left_keeps_the_borders_of_chunks(folder):
    plan = plan_of(folder / "sweep.yaml", ("batch.worlds=10",), device="cpu", max_worlds=4)
    first, second, *others = plan.chunks
    assert plan.rechunk(set()) == plan.chunks
    left = plan.rechunk({*first.cases, second.cases[1]})
    assert left[1:] == tuple(others)
    assert (left[0].cases, left[0].worlds) == ((second.cases[0], *second.cases[2:]), (4, 6, 7))
    assert left[0].id == scenes.digest_of(left[0].cases) != second.id
    assert plan.rechunk({case.id for case in plan.cases}) == ()


def test_an_enlarged_grid_leaves_only_what_is_new(folder):
    path = folder / "swing.yaml"
    done = {case.id for case in plan_of(path, (DRAWN,), device="cpu").cases}
    larger = plan_of(path, (DRAWN, "batch.vary.joints.elbow.damping={grid: [0.01, 0.015, 0.02]}"), device="cpu")
    (chunk,) = larger.rechunk(done)
    assert chunk.worlds == (3, 4, 5)
    assert not done & set(chunk.cases)


def test_a_run_of_some_worlds_is_a_sweep_of_them(folder):
    from simcli import pipeline

    asked = pipeline.Request(folder / "swing.yaml", folder / "a.h5", (DRAWN, "run.duration=0.01"), "cpu", worlds=(1, 4))
    pipeline.execute(pipeline.prepare(asked))
    plan = plan_of(folder / "a.h5", device="cpu")
    whole = plan_of(folder / "swing.yaml", (DRAWN, "run.duration=0.01"), device="cpu")
    assert [case.id for case in plan.cases] == [whole.cases[k].id for k in (1, 4)]


@pytest.mark.parametrize(
    ("seconds", "memory", "n_cases", "most", "wanted"),
    [
        (1e-3, 1.0, 10**7, None, LONGEST / 1e-3 // GRAIN * GRAIN),
        (1e-3, 1e7, 10**6, None, 64),  # memory
        (1e-3, 1.0, 10**5, None, 29_952),  # a chunk of the shortest time
        (1e-1, 1.0, 10**4, None, 625 // 64 * 64),  # so many pieces
        (1e3, 1.0, 10**4, None, 1),
        (1e-3, 1.0, 10**6, 10, 10),
        (1e-3, 1e12, 10, None, 1),
    ],
)
def test_chunks_are_neither_long_nor_large(seconds, memory, n_cases, most, wanted):
    assert cases_at_once(Cost(1, seconds, memory, 1.0, 1.0), n_cases, most) == wanted


def test_a_forecast_counts_what_is_left(folder):
    plan = plan_of(folder / "sweep.yaml", device="cpu")
    found = forecast(plan, {plan.cases[0].id, *plan.chunks[1].cases})
    assert (found.n_cases, found.n_left, found.n_structures, found.n_chunks) == (12, 8, 4, 3)
    assert found.n_steps == 2 * 60 + 6 * 120
    seconds = [n * batch.cost.seconds for n, batch in zip((2, 0, 3, 3), plan.batches, strict=True)]
    assert found.hours == pytest.approx(sum(seconds) / 3600)
    assert forecast(replace(plan, keep="all")).n_bytes > forecast(plan).n_bytes > 0


# Files.


def test_a_plan_reads_back(folder):
    plan = plan_of(folder / "sweep.yaml", ("run.duration=0.07",), device="cpu", max_worlds=2, time_limit=2.5)
    write_plan(plan, folder / "made")
    assert read_plan(folder / "made") == plan
    before = (folder / "made" / NAME).read_bytes()
    write_plan(plan, folder / "made")
    assert (folder / "made" / NAME).read_bytes() == before


def test_a_damaged_plan_is_told(folder):
    write_plan(plan_of(folder / "sweep.yaml", device="cpu"), folder)
    whole = (folder / NAME).read_bytes()
    for data in (whole[:-20], b"", b"no gzip", gzip.compress(b"{}"), gzip.compress(b'{"format": 2}'), gzip.compress(b"[]")):
        (folder / NAME).write_bytes(data)
        with pytest.raises(FileError, match="is damaged"):
            read_plan(folder)
    with pytest.raises(FileError, match="is no folder of a sweep"):
        read_plan(folder / "nowhere")


# The command line.


def run(*words):
    return cli_process.run_command(list(map(str, words)), debug=False, as_json="--json" in words)


def test_check_knows_sweeps(folder, capsys):
    assert run("check", folder / "sweep.yaml") == Exit.OK
    assert "sweep.yaml: ok (sweep of 12 cases in 4 structures)" in capsys.readouterr().out
    write(folder, SWEEP + "kep: all\n")
    assert run("check", folder) == Exit.NEGATIVE
    said = capsys.readouterr().err
    assert "other.yaml:10:1" in said
    assert "1 of 3 files bad" in said


def test_the_schema_takes_what_the_program_takes(folder, capsys):
    jsonschema = pytest.importorskip("jsonschema")
    yaml = pytest.importorskip("yaml")
    import json

    assert run("schema", "--sweep") == Exit.OK
    validator = jsonschema.Draft7Validator(json.loads(capsys.readouterr().out))
    assert not list(validator.iter_errors(yaml.safe_load(SWEEP + "keep: failed\ntime_limit: 10 min\ninclude: a.yaml\n")))
    for wrong in ("keep: al", "choises: {}", "worlds: 0", "time_limit: 3 kg"):
        assert list(validator.iter_errors(yaml.safe_load(SWEEP.replace("worlds: 3\n", "") + wrong))), wrong


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ("set: {solver.dt: 2 ms}", "SC207"),
        ("set: {joints.pin.q: 1}", "SC207"),
        ("set: {run.duration: 1}", None),
        ("set: {joints.elbow.damping: 0}", None),  # of the other choice
        ("set: {measure: {peak: {max: joint.pin.q}}}\nmeasure: {peak: {max: joint.pin.qd}}", "SC102"),
    ],
)
def test_what_a_sweep_sets_without_effect_is_refused(folder, more, code):
    (folder / "sweep.yaml").write_text(f"{SWEEP}{more}\n")
    if code is None:
        plan_of(folder / "sweep.yaml")
        return
    with pytest.raises(SceneError) as caught:
        plan_of(folder / "sweep.yaml")
    fault = caught.value.faults[0]
    assert fault.code == code
    assert fault.where.file.endswith("sweep.yaml")
