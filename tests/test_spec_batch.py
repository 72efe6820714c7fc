"""What differs between worlds: values keyed by seed, path and draw; refusals by name.

Values from the command line: where they go, and how their faults are shown.
"""

import math

import numpy as np
import pytest

from simcli.errors import SceneError
from simcli.spec import load_document, resolve, world_seeds, world_values
from simcli.spec.base.fault_list import Faults
from simcli.spec.base.nodes import Mark, plain
from simcli.spec.document.loader import parse_text
from simcli.spec.document.overrides import Override
from simcli.spec.document.scene_file import HeldScene
from simcli.spec.document.vary_option import spread_values
from simcli.spec.loading import load_held
from simcli.spec.values import sobol

BASE = """\
simcli: 1
params: {L: 0.4, n: 2}
bodies:
  a: {mass: 1, inertia: {diag: [1, 1, 1]}, com: ["${L}", 0, 0]}
joints:
  pin: {type: revolute, parent: world, child: a, damping: 0.1}
models: {m: {bodies: {b: {mass: 1, inertia: {diag: [1, 1, 1]}}}}}
replicate: {r: {model: m, count: "${n}", spacing: [1, 0, 0]}}
run: {duration: 1}
"""
FIRST = [0.4536003613186802, 0.5733545548381799, 0.5087136290597257]
MEAN = 5.0  # standard errors: chance of a false alarm below 1e-6


def document(tmp_path, vary, worlds=4, seed=0, base=BASE):
    path = tmp_path / "scene.yaml"
    lines = "".join(f"    {name}: {how}\n" for name, how in vary.items())
    path.write_text(f"{base}batch:\n  worlds: {worlds}\n  seed: {seed}\n  vary:\n{lines}")
    return load_document(path)


def values(tmp_path, vary, worlds=4, seed=0, base=BASE):
    doc = document(tmp_path, vary, worlds, seed, base)
    return world_values(resolve(doc))


def column(worlds, path):
    return np.array([world[path] for world in worlds])


def test_nothing_varies(tmp_path):
    path = tmp_path / "scene.yaml"
    path.write_text(BASE + "batch: {worlds: 3}\n")
    doc = load_document(path)
    spec = resolve(doc)
    assert world_values(spec) == [{}, {}, {}]
    assert len(set(world_seeds(spec))) == 3


def test_grids_multiply_and_share_their_draws(tmp_path):
    vary = {"joints.pin.damping": "{uniform: [0, 1]}", "params.L": "{grid: [1, 2, 3]}", "bodies.a.mass": "{grid: [7, 8 kg]}"}
    worlds = values(tmp_path, vary)
    assert len(worlds) == 4 * 6
    assert [world["params.L"] for world in worlds] == [1.0] * 8 + [2.0] * 8 + [3.0] * 8
    assert [world["bodies.a.mass"] for world in worlds] == ([7.0] * 4 + [8.0] * 4) * 3
    draws = column(worlds, "joints.pin.damping").reshape(6, 4)
    assert (draws == draws[0]).all()


def test_draw_k_depends_on_seed_path_and_k_alone(tmp_path):
    how = {"joints.pin.damping": "{uniform: [0, 1]}"}
    alone = column(values(tmp_path, how, 8), "joints.pin.damping")
    more = column(
        values(tmp_path, {"bodies.a.mass": "{uniform: [1, 2]}", **how, "params.L": "{grid: [1, 2]}"}, 50),
        "joints.pin.damping",
    )
    assert (more[:8] == alone).all()
    assert (more[50:58] == alone).all()
    other = column(values(tmp_path, how, 8, seed=1), "joints.pin.damping")
    assert not np.isclose(other, alone).any()
    mass = column(values(tmp_path, {"bodies.a.mass": "{uniform: [0.1, 1.1]}"}, 8), "bodies.a.mass") - 0.1
    assert not np.isclose(mass, alone).any()


def test_draws_are_these_for_ever(tmp_path):
    """The first draws of seed 7, so that a change of the generator cannot go unseen."""
    got = column(values(tmp_path, {"joints.pin.damping": "{uniform: [0, 1]}"}, 3, seed=7), "joints.pin.damping")
    assert got == pytest.approx(FIRST, abs=0)


def test_distributions(tmp_path):
    n = 4096
    vary = {
        "joints.pin.damping": "{uniform: [2, 4]}",
        "bodies.a.mass": "{normal: [10, 0.5]}",
        "joints.pin.armature": "{log_uniform: [1e-3, 10]}",
    }
    worlds = values(tmp_path, vary, n)
    even, normal, log = (column(worlds, path) for path in vary)
    assert even.min() >= 2
    assert even.max() < 4
    assert abs(even.mean() - 3) < MEAN * 2 / math.sqrt(12 * n)
    assert abs(normal.mean() - 10) < MEAN * 0.5 / math.sqrt(n)
    assert abs(normal.std() / 0.5 - 1) < MEAN / math.sqrt(2 * n)
    share = np.log(log / 1e-3) / math.log(1e4)
    assert (log >= 1e-3).all()
    assert (log <= 10).all()
    assert abs(share.mean() - 0.5) < MEAN / math.sqrt(12 * n)


def test_linspace_and_list(tmp_path):
    got = values(tmp_path, {"joints.pin.damping": "{linspace: [0, 3]}", "joints.pin.q": "{list: [0, 10 deg, 1, 2]}"})
    assert column(got, "joints.pin.damping").tolist() == [0, 1, 2, 3]
    assert column(got, "joints.pin.q") == pytest.approx([0, math.radians(10), 1, 2])
    one = values(tmp_path, {"joints.pin.damping": "{linspace: [2, 3]}"}, 1)
    assert column(one, "joints.pin.damping").tolist() == [2]
    gravity = values(tmp_path, {"world.gravity": "{list: [[0, 0, -1], [0, 0, -2]]}"}, 2)
    assert gravity[1]["world.gravity"] == [0, 0, -2]


def test_sobol_fills_every_interval_once(tmp_path):
    vary = {"joints.pin.damping": "{sobol: [0, 1]}", "bodies.a.mass": "{sobol: [1, 2]}"}
    worlds = values(tmp_path, vary, 64)
    x, y = column(worlds, "joints.pin.damping"), column(worlds, "bodies.a.mass") - 1
    assert sorted((x * 64).astype(int)) == list(range(64))
    assert sorted((y * 64).astype(int)) == list(range(64))
    # A (0, 6, 2)-net: every elementary box of area 1/64 holds one point.
    for cut in range(7):
        boxes = set(zip((x * 2**cut).astype(int), (y * 2 ** (6 - cut)).astype(int), strict=True))
        assert len(boxes) == 64


def test_direction_numbers():
    """Every polynomial is primitive and used once; the first numbers are odd and small enough."""
    seen = set()
    for dimension in range(1, sobol.MAX_DIMENSIONS):
        coefficients, m = sobol._DIRECTIONS[dimension - 1]
        degree = len(m)
        polynomial = 1 << degree | coefficients << 1 | 1
        assert polynomial not in seen
        seen.add(polynomial)
        state, period = 2 % (1 << degree) if degree > 1 else 1, 1
        start = state
        while True:
            state = state << 1
            if state >> degree & 1:
                state ^= polynomial
            if state == start:
                break
            period += 1
            assert period < 2**degree
        assert degree == 1 or period == 2**degree - 1
        assert all(value % 2 == 1 and value < 2**i for i, value in enumerate(m, start=1))


@pytest.mark.parametrize("dimension", range(sobol.MAX_DIMENSIONS))
def test_every_dimension_is_even(dimension):
    points = sobol.points(dimension, 256)
    assert sorted(int(x * 256) for x in points) == list(range(256))
    shifted = sobol.points(dimension, 256, shift=0x1234567890ABC)
    assert sorted(int(x * 256) for x in shifted) == list(range(256))


@pytest.mark.parametrize(
    ("path", "how", "code"),
    [
        ("solver.dt", "{uniform: [1e-3, 1e-2]}", "SC317"),
        ("run.duration", "{grid: [1, 2]}", "SC317"),
        ("output.every", "{grid: [0.1, 0.2]}", "SC317"),
        ("batch.worlds", "{grid: [1, 2]}", "SC317"),
        ("batch.seed", "{grid: [1, 2]}", "SC317"),
        ("simcli", "{grid: [1, 2]}", "SC317"),
        ("name", "{grid: [1, 2]}", "SC317"),
        ("joints.pin.type", "{grid: [1, 2]}", "SC317"),
        ("joints.pin", "{grid: [1, 2]}", "SC317"),
        ("joints.pin.enabled", "{grid: [0, 1]}", "SC317"),
        ("replicate.r.count", "{grid: [1, 2]}", "SC317"),
        ("params.n", "{grid: [1, 2]}", "SC317"),
        ("joints.pim.damping", "{grid: [1, 2]}", "SC303"),
        ("joints.pin.dampig", "{grid: [1, 2]}", "SC303"),
        ("bodies.a.com[7]", "{grid: [1, 2]}", "SC303"),
        ("a..b", "{grid: [1, 2]}", "SC303"),
        ("bodies.a.mass", "{uniform: [-1, 1]}", "SC401"),
        ("bodies.a.mass", "{grid: [1, 2 m]}", "SC213"),
        ("bodies.a.mass", "{uniform: [1, 2, 3]}", "SC205"),
        ("bodies.a.mass", "{uniform: [2, 1]}", "SC232"),
        ("bodies.a.mass", "{log_uniform: [0, 1]}", "SC232"),
        ("bodies.a.mass", "{list: [1, 2, 3]}", "SC205"),
        ("bodies.a.mass", "{grid: []}", "SC205"),
        ("bodies.a.mass", "{}", "SC202"),
        ("bodies.a.mass", "{grid: [1], list: [1, 2, 3, 4]}", "SC207"),
        ("bodies.a.mass", "{gird: [1, 2]}", "SC204"),
        ("bodies.a.mass", "{grid: [true, false]}", "SC203"),
        ("world.gravity", "{grid: [[0, 0]]}", "SC205"),
        ("joints.pin.damping", "{normal: [1, -1]}", "SC231"),
    ],
)
def test_refusals(tmp_path, path, how, code):
    with pytest.raises(SceneError) as caught:
        resolve(document(tmp_path, {path: how}))
    faults = caught.value.faults
    assert code in {fault.code for fault in faults}
    assert faults[0].where.line == 14


def test_values_replace_what_they_name_and_nothing_else(tmp_path):
    doc = document(tmp_path, {"bodies.a.mass": "{grid: [1, 2]}"})
    base = resolve(doc)
    moved = resolve(
        doc, {"params.L": 0.9, "joints.pin.damping": 0.7, "world.gravity[2]": -1.62, "bodies.a.inertia.diag[0]": 1.5}
    )
    assert moved.bodies["a"].com == (0.9, 0, 0)
    assert moved.bodies["a"].inertia.diag == (1.5, 1, 1)
    assert moved.joints["pin"].damping == (0.7,)
    assert moved.world.gravity == (0, 0, -1.62)
    assert moved.bodies["r/0-0-0/b"] is base.bodies["r/0-0-0/b"]
    assert resolve(doc) is base
    assert resolve(doc, {"joints.pin.q": "10 deg"}).joints["pin"].q == pytest.approx((math.radians(10),))
    with pytest.raises(SceneError):
        resolve(doc, {"joints.pin.q": "10 cm"})
    with pytest.raises(SceneError):
        resolve(doc, {"bodies.a.mass": -1.0})
    assert resolve(doc) is base


def test_values_equal_a_scene_written_so(tmp_path):
    """The short way of one world and the long way of a whole scene give the same."""
    doc = document(tmp_path, {"bodies.a.mass": "{grid: [1, 2]}"})
    resolve(doc)
    short = resolve(doc, {"params.L": 0.9, "joints.pin.damping": 0.7})
    text = BASE.replace("L: 0.4", "L: 0.9").replace("damping: 0.1", "damping: 0.7")
    long = resolve(document(tmp_path, {"bodies.a.mass": "{grid: [1, 2]}"}, base=text))
    assert short.model_copy(update={"params": {}}) == long.model_copy(update={"params": {}})
    assert short.params == long.params


GOOD = "simcli: 1\nbodies:\n  a: {mass: 1, inertia: {diag: [1, 1, 1]}}\n"


def write(folder, text):
    path = folder / "scene.yaml"
    path.write_text(text)
    return path


def refused(path, sets=()):
    with pytest.raises(SceneError) as caught:
        resolve(load_document(path, sets))
    return caught.value.faults


LISTS = (
    GOOD
    + """
  c: {shapes: {s: {type: sphere, radius: 1, density: 1}}}
joints: {pin: {type: planar, parent: world, child: a}, ball: {type: ball, parent: a, child: c}}
"""
)


def test_an_entry_of_a_list_that_is_not_written_changes_its_default(tmp_path):
    path = write(tmp_path, LISTS)
    sets = [
        "bodies.a.com[0]=10 cm",
        "world.gravity[1]=1",
        "bodies.a.pose.xyz[2]=2",
        "joints.pin.q[2]=90 deg",
        "joints.pin.axis[1]=1",
        "joints.pin.damping[1]=3",
    ]
    spec = resolve(load_document(path, sets))
    assert spec.bodies["a"].com == (0.1, 0, 0)
    assert spec.world.gravity == (0, 1, -9.81)
    assert spec.bodies["a"].pose.xyz == (0, 0, 2)
    assert spec.joints["pin"].q == (0, 0, math.pi / 2)
    assert (spec.joints["pin"].axis, spec.joints["pin"].damping) == ((1, 1, 0), (0, 3, 0))
    with pytest.raises(SceneError) as caught:  # sound, but no solver of this version runs it
        resolve(load_document(path, ["world.plane=xy", "world.gravity[0]=1"]))
    assert caught.value.spec.world.gravity == (1, -9.81, 0)


def test_lists_of_instances_too(tmp_path):
    models = "models: {m: {bodies: {a: {mass: 1, inertia: {diag: [1, 1, 1]}}}}}\ninstances: {left: {model: m}}\n"
    spec = resolve(load_document(write(tmp_path, "simcli: 1\n" + models), ["bodies.left/a.com[1]=2"]))
    assert spec.bodies["left/a"].com == (0, 2, 0)
    faults = refused(write(tmp_path, "simcli: 1\n" + models), ["bodies.left/b.com[1]=2"])
    assert [fault.code for fault in faults] == ["SC301"]


@pytest.mark.parametrize("text", ["bodies.c.com[0]=1", "joints.ball.q[0]=1", "bodies.a.velocity.linear[0]=1"])
def test_a_list_without_a_default_of_its_own_is_set_as_a_whole(tmp_path, text):
    (fault,) = refused(write(tmp_path, LISTS), [text])
    assert (fault.code, fault.hint) == ("SC113", "set the whole list")


OPTIONS = [
    ((Override("--dt", "-1", "solver.dt"),), "SC231", ("--dt", 1, 1, 2)),
    ((Override("--duration", "3x", "run.duration"),), "SC212", ("--duration", 1, 1, 2)),
    ((Override("--worlds", "0", "batch.worlds"),), "SC231", ("--worlds", 1, 1, 1)),
    ((Override("--seed", "-1", "batch.seed"),), "SC231", ("--seed", 1, 1, 2)),
    ((Override("--vary", "bodies.a.mass=1,x"),), "SC212", ("--vary", 1, 17, 1)),
    ((Override("--vary", "bodies.a.mass=1,2"), Override("--vary", "bodies.a.mas=1,2")), "SC303", ("--vary", 2, 1, 12)),
    ((Override("--vary", "bodies.a.mass=1,2"), Override("--vary", "bodies.a.mass=3")), "SC102", ("--vary", 2, 1, 13)),
    ((Override("--vary", "bodies.a.mass= unifrm(1, 2)"),), "SC204", ("--vary", 1, 16, 6)),
    ((Override("--vary", "bodies.a.mass=uniform (1, x)"),), "SC212", ("--vary", 1, 27, 1)),
    ((Override("--vary", "bodies.a.mass=uniform(2, 1)"),), "SC232", ("--vary", 1, 22, 6)),
    ((Override("--vary", "bodies.a.mass={uniform: [2, 1]}"),), "SC232", ("--vary", 1, 25, 6)),
    ((Override("--vary", "bodies.a.mass=-1,2"),), "SC401", ("--vary", 1, 15, 2)),
    (("name=x", Override("--dt", "1", "solver.dt"), "bodies.a.mass=-1"), "SC401", ("--set", 2, 15, 2)),
]


@pytest.mark.parametrize(("sets", "code", "where"), OPTIONS)
def test_a_fault_shows_the_option_and_the_text_as_typed(tmp_path, sets, code, where):
    with pytest.raises(SceneError) as caught:
        resolve(load_document(write(tmp_path, GOOD), sets))
    found = [fault for fault in caught.value.faults if fault.code == code]
    assert len(found) == 1, caught.value.faults
    place = found[0].where
    assert (place.file, place.line, place.column, place.length) == where
    of_option = [
        one.text if isinstance(one, Override) else one
        for one in sets
        if (one.option if isinstance(one, Override) else "--set") == where[0]
    ]
    assert caught.value.document.line(place) == of_option[where[1] - 1]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("joints.pin.damping=0.1, 0.2", [0.1, 0.2]),
        ("joints.pin.damping={list: [1, 2]}", [1, 2]),
        ("joints.pin.damping= linspace (1, 2 )", [1, 2]),
        ("joints.pin.axis=[0,0,1],[0,1,0]", [[0, 0, 1], [0, 1, 0]]),
        ("bodies.a.com[2]=1,2", [1, 2]),
    ],
)
def test_values_of_vary(tmp_path, text, values):
    sets = [Override("--vary", text), *(["batch.worlds=2"] if "l" in text.split("=")[1] else [])]
    document = load_document(write(tmp_path, LISTS), sets)
    found = world_values(resolve(document))
    assert [list(world.values()) for world in found] == [[value] for value in values]


@pytest.mark.parametrize(
    ("key", "hint"),
    [
        (
            "bodies.a.inertia.diag[3]",
            "`bodies.a.inertia.diag` has 3 entries, `bodies.a.inertia.diag[0]` to `bodies.a.inertia.diag[2]`",
        ),
        (
            "bodies.a.inertia.diag.x",
            "`bodies.a.inertia.diag` is a list of 3 entries: name one, as `bodies.a.inertia.diag[0]`",
        ),
        ("bodies.a.mass[1]", "`bodies.a.mass` is a single value: name that"),
        ("bodies.a.com[0]", ""),
    ],
)
def test_a_path_past_the_end_of_what_is_written_says_where_that_ends(tmp_path, key, hint):
    path = write(tmp_path, GOOD)
    if not hint:  # a default may be counted in
        resolve(load_document(path, [Override("--vary", f"{key}=0.1,0.2")]))
        return
    (fault,) = refused(path, [Override("--vary", f"{key}=0.1,0.2")])
    assert (fault.code, fault.hint) == ("SC303", hint)


SPREAD = (
    GOOD
    + """joints: {pin: {type: revolute, parent: world, child: a}}
batch: {worlds: 2, vary: {joints.pin.q: {uniform: [0, 1]}, bodies.a.com: {grid: [[0, 0, 0], [1, 0, 0]]}}}
"""
)


@pytest.mark.parametrize("text", ["joints.pin.q=5", "bodies.a.com=[0, 0, 1]", "bodies.a.com[0]=1"])
def test_a_value_that_the_batch_varies_cannot_be_set(tmp_path, text):
    path = write(tmp_path, SPREAD)
    (fault,) = refused(path, ["bodies.a.mass=2", text])
    assert (fault.code, fault.where.file, fault.where.line) == ("SC207", "--set", 2)
    assert "has no effect" in fault.message
    assert "--vary" in fault.hint
    assert "--set batch=null" in fault.hint
    resolve(load_document(path, [text, "batch=null"]))


KINDS = """simcli: 1
params: {m: 2, L: 1 m, k: 10 N/mm}
models: {arm: {params: {L: 40 cm}, bodies: {b: {mass: 1, inertia: {diag: [1, 1, 1]}, com: ["${L}", 0, 0]}}}}
instances: {left: {model: arm, params: {L: 1}}}
bodies: {a: {mass: "${m}", inertia: {diag: [1, 1, 1]}, com: ["${L}", "${k/1e6}", 0]}}
"""


@pytest.mark.parametrize(
    ("override", "is_refused"),
    [
        (Override("--set", "params.k=5 kg"), True),
        (Override("--set", "params.k=5 N/m"), False),
        (Override("--set", "params.m=5 kg"), False),
        (Override("--set", "instances.left.params.L=3 kg"), True),
        (Override("--set", "instances.left.params.L=3 m"), False),
        (Override("--vary", "params.m=uniform(1 m, 2 kg)"), True),
        (Override("--vary", "params.m=grid(1 kg, 2, 3 s)"), True),
        (Override("--vary", "params.m=uniform(1 g, 2 kg)"), False),
    ],
)
def test_a_parameter_keeps_its_dimension(tmp_path, override, is_refused):
    path = write(tmp_path, KINDS)
    if not is_refused:
        resolve(load_document(path, [override]))
        return
    assert [fault.code for fault in refused(path, [override])] == ["SC213"]


def test_an_index_beyond_a_list_that_is_not_written_is_named_as_that(tmp_path):
    (fault,) = refused(write(tmp_path, GOOD), [Override("--vary", "world.gravity[7]=1,2")])
    assert fault.hint == "`world.gravity` has 3 entries, `world.gravity[0]` to `world.gravity[2]`"


def test_a_key_without_a_value_is_told_as_that(tmp_path):
    (fault,) = refused(write(tmp_path, GOOD + "joints: {pin: {type: revolute, parent: world, child: a, damping: }}\n"))
    assert (fault.message, fault.hint) == ("`damping` has no value", "write one, as `damping: 0.01`")


@pytest.mark.parametrize(
    ("option", "last", "is_refused"),
    [
        (Override("--duration", "1", "run.duration"), "run.duration=2", True),
        (Override("--duration", "1", "run.duration"), "run={duration: 2}", True),
        (Override("--duration", "1", "run.duration"), "run.duration=1 s", False),
        (Override("--duration", "2 min", "run.duration"), "run={duration: 120}", False),
        (Override("--dt", "1 ms", "solver.dt"), "solver={dt: 1e-3, type: maximal}", False),
        (Override("--dt", "1 ms", "solver.dt"), "solver={type: maximal}", True),
        (Override("--solver", "natural", "solver.type"), "solver.type=maximal", True),
        (Override("--solver", "natural", "solver.type"), "solver.type=natural", False),
        (Override("--worlds", "3", "batch.worlds"), "batch.worlds=4", True),
        (Override("--worlds", "3", "batch.worlds"), "batch=null", True),
        (Override("--select", '["a"]', "output.select"), "output.select=[c]", True),
        (Override("--select", '["a"]', "output.select"), "output.select=[a]", False),
        (Override("--vary", "bodies.a.mass=1,2"), "batch.vary.bodies.a.mass={grid: [1, 3]}", True),
        (Override("--measure", "{max: energy.total}", "measure.m"), "measure.m={min: energy.total}", True),
        ("run.duration=1", "run.duration=2", False),
    ],
)
def test_options_that_contradict_each_other_are_refused(tmp_path, option, last, is_refused):
    path = write(tmp_path, GOOD + "  c: {mass: 1, inertia: {diag: [1, 1, 1]}}\nrun: {duration: 5}\n")
    if not is_refused:
        resolve(load_document(path, [option, last]))
        return
    (fault,) = [one for one in refused(path, [option, last]) if one.severity == "error"]
    assert fault.code == "SC102"
    assert fault.message == f"`{option.option} {option.text}` and `--set {last}` contradict each other"


def test_a_later_command_says_otherwise_than_the_run_that_it_reads(tmp_path):
    said = (Override("--duration", "1", "run.duration"),)
    held = HeldScene((("scene.yaml", GOOD + "run: {duration: 5}\n"),), {}, said, None)
    assert resolve(load_held(held, "a.h5", ["run.duration=2"])).run.duration == 2
    held = HeldScene(held.sources, {}, (*said, Override("--set", "run.duration=2")), None)  # of an earlier version
    assert resolve(load_held(held, "a.h5", [Override(*said[0])])).run.duration == 1


def test_a_list_where_a_word_is_expected_is_told_in_words(tmp_path):
    (fault,) = refused(write(tmp_path, GOOD), ["solver.type=[a]"])
    assert fault.message == "a list is not a value of `type`"


@pytest.mark.parametrize("numbers", ["0.5, -1.25, 1e-05, 2.5e+20, 0.0", "0.5", "1, 2.5", ""])
def test_lists_of_a_search_are_read_as_any_other(numbers):
    text = f"{{list: [{numbers}]}}"
    start = Mark("--vary", 3, 4, 1)
    one, other = spread_values(text, start, Faults()), parse_text(text, "--vary", Faults(), at=(3, 4))
    assert plain(one) == plain(other)
    assert [type(x) for x in plain(one)["list"]] == [type(x) for x in plain(other)["list"]]
    assert one.mark[:3] == other.mark[:3]
