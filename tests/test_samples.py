"""Every way to vary: its spellings, and what its draws depend on; points against SciPy.

Truncated and correlated normal draws: their moments, bounds, and what they depend on.
"""

import itertools
import math
import re
from importlib.resources import files

import numpy as np
import pytest
from support.sampling import BASE, P_VALUE, column, document, values

from simcli.errors import SceneError
from simcli.spec import document_of_text, json_schema, n_worlds, resolve, resolved_yaml, world_seeds, world_values
from simcli.spec.base.nodes import plain
from simcli.spec.batches import random_draws
from simcli.spec.document.overrides import VARY
from simcli.spec.resolve import warnings
from simcli.spec.schema.batch import OPTIONS, VARY_KINDS, VarySpec
from simcli.spec.values import sobol

# Of each way one spelling, that is good for two worlds.
WAYS = {
    "uniform": "uniform(1, 2)",
    "normal": "normal(1, 0.1)",
    "log_uniform": "log_uniform(0.1, 10)",
    "linspace": "linspace(1, 2)",
    "list": "list(1, 2)",
    "sobol": "sobol(1, 2)",
    "grid": "1, 2",
    "zip": "zip(1, 2)",
    "lhs": "lhs(1, 2, strata=8)",
    "scrambled_sobol": "scrambled_sobol(1, 2)",
    "choice": "choice(1, 2, 5, weights=[1, 2, 1])",
}
UNBOUND = [kind for kind in WAYS if kind not in ("list", "linspace", "grid", "zip")]  # draws without an end
DRAWN = [kind for kind in UNBOUND if kind != "choice"]


def fault(tmp_path, *vary, **options):
    with pytest.raises(SceneError) as caught:
        resolve(document(tmp_path, *vary, **options))
    return caught.value.faults[0]


def test_every_way_has_a_spelling_here():
    assert {*WAYS, "from"} == set(VARY_KINDS)
    fields = {field.alias or name for name, field in VarySpec.model_fields.items()}
    assert fields == {*VARY_KINDS, *OPTIONS}


@pytest.mark.parametrize("kind", WAYS)
def test_scene_and_command_line_say_the_same(tmp_path, kind):
    spelled = WAYS[kind]
    by_option = document(tmp_path, f"params.a={spelled}", worlds=2)
    spec = resolve(by_option)
    assert spec.batch.vary["params.a"].kind == kind
    again = plain(document_of_text(resolved_yaml(spec), "again.yaml").root)
    assert VarySpec.model_validate(again["batch"]["vary"]["params.a"]) == spec.batch.vary["params.a"]


@pytest.mark.parametrize("kind", UNBOUND)
def test_draw_k_depends_on_nothing_but_itself(tmp_path, kind):
    """Not on the number of worlds, on other paths before and behind, on grids, on what others are called."""
    how = WAYS[kind]
    alone = column(tmp_path, how, 7)
    assert (column(tmp_path, how, 300)[:7] == alone).all()
    others = ("params.c=uniform(1, 2)", "params.d=lhs(1, 2, strata=3)", "joints.pin.damping=choice(1, 2)")
    assert (column(tmp_path, how, 7, others=others) == alone).all()
    grids = column(tmp_path, how, 7, others=("params.c=1,2,3", "params.d=zip(1,2)", "params.e=zip(3,4)"))
    assert (grids.reshape(6, 7) == alone).all()
    assert (column(tmp_path, how, 7, seed=1) != alone).any()


# The first draws of seed 7, so that a change of a generator cannot go unseen.
FOR_EVER = {
    "lhs(1, 2, strata=8)": [1.1878335810491882, 1.7738155888138174, 1.4961952673031869],
    "scrambled_sobol(1, 2)": [1.0951057202570151, 1.51719093893007, 1.771033998388364],
    "sobol(1, 2)": [1.7534143328891845, 1.2534143328891845, 1.0034143328891845],
    "choice(1, 2, 5, weights=[1, 2, 1])": [2.0, 1.0, 5.0],
    "normal(1, 0.1, low=0.95)": [1.0401880572675928, 0.9849736144093157, 1.2032596777403364],
}


@pytest.mark.parametrize("how", FOR_EVER)
def test_draws_are_these_for_ever(tmp_path, how):
    assert column(tmp_path, how, 3, seed=7) == pytest.approx(FOR_EVER[how], rel=4e-16)  # two units of the last place


@pytest.mark.parametrize("kind", DRAWN)
def test_paths_are_drawn_apart(tmp_path, kind):
    how = WAYS[kind]
    both = values(tmp_path, f"params.a={how}", f"params.d={how}", worlds=64)
    a, d = (np.array([world[path] for world in both]) for path in ("params.a", "params.d"))
    assert (a != d).all()
    assert abs(np.corrcoef(a, d)[0, 1]) < 0.6
    turned = values(tmp_path, f"params.d={how}", f"params.a={how}", worlds=64)
    if kind not in ("sobol", "scrambled_sobol"):  # whose dimensions go by the order, unless they are written
        assert [world["params.a"] for world in turned] == a.tolist()


@pytest.mark.parametrize("kind", ["sobol", "scrambled_sobol"])
def test_a_written_dimension_does_not_depend_on_the_order(tmp_path, kind):
    words = [f"params.{name}={kind}(0.5, 1, dimension={k})" for k, name in enumerate("acd")]
    first = [sorted(world.items()) for world in values(tmp_path, *words, worlds=16)]
    for order in itertools.permutations(words):
        assert [sorted(world.items()) for world in values(tmp_path, *order, worlds=16)] == first


def test_both_kinds_of_sobol_have_dimensions_of_their_own(tmp_path):
    alone = column(tmp_path, "sobol(0, 1)", 32)
    doc = document(tmp_path, "params.d=scrambled_sobol(0, 1)", "params.a=sobol(0, 1)", worlds=32)
    got = world_values(resolve(doc))
    assert [world["params.a"] for world in got] == alone.tolist()
    x, y = alone, np.array([world["params.d"] for world in got])
    assert all(count == 1 for count in boxes([x, y], 5, (2, 3)).values())


def boxes(columns, m, cuts):
    """How many of the first 2^m points lie in each elementary interval of a kind."""
    places = zip(*((np.array(one) * 2**cut).astype(int) for one, cut in zip(columns, cuts, strict=True)), strict=True)
    found = dict.fromkeys(itertools.product(*(range(2**cut) for cut in cuts)), 0)
    for place in places:
        found[tuple(map(int, place))] += 1
    return found


def test_points_are_those_of_scipy():
    qmc = pytest.importorskip("scipy.stats.qmc")
    theirs = qmc.Sobol(sobol.MAX_DIMENSIONS, scramble=False, bits=sobol.BITS).random(256)
    mine = np.array([sobol.points(k, 256) for k in range(sobol.MAX_DIMENSIONS)]).T
    np.testing.assert_array_equal(mine, theirs)


def test_scrambling_keeps_every_elementary_interval():
    """Two dimensions are a (0, m, 2)-net, and stay one; each dimension is even for every number of points."""
    for seed in range(3):
        x, y = (np.array(random_draws.scrambled_fractions(seed, name, 64, k)) for k, name in enumerate("xy"))
        for cut in range(7):
            assert set(boxes([x, y], 6, (cut, 6 - cut)).values()) == {1}
        many = np.array(random_draws.scrambled_fractions(seed, "z", 256, 17))
        assert sorted((many * 256).astype(int)) == list(range(256))
        assert (many[:64] == random_draws.scrambled_fractions(seed, "z", 64, 17)).all()


def test_scrambling_is_no_shift():
    """Owen: each point is evenly distributed over the seeds, and pairs that share digits go on independently."""
    stats = pytest.importorskip("scipy.stats")
    draws = np.array([random_draws.scrambled_fractions(seed, "p", 4, 0) for seed in range(800)])
    for k in range(4):
        assert stats.kstest(draws[:, k], "uniform").pvalue > P_VALUE
    bits = lambda x: (x * 2.0**sobol.BITS).astype(np.uint64)  # noqa: E731
    same = bits(draws[:, 0]) ^ bits(draws[:, 1])  # points 0 and 1/2: of a digital shift always the same difference
    assert len(np.unique(same)) == 800
    assert (same >> np.uint64(sobol.BITS - 1) == 1).all()
    below = (same >> np.uint64(sobol.BITS - 2) & np.uint64(1)).astype(int)
    assert stats.binomtest(int(below.sum()), 800).pvalue > P_VALUE


def test_scrambled_points_integrate_better_than_shifted_ones():
    """The error of a smooth integral falls like n^-3/2 over the seeds, as Owen (1997) has it; of a shift like n^-1."""

    def error(n, scrambled):
        means = []
        for seed in range(40):
            if scrambled:
                u = random_draws.scrambled_fractions(seed, "p", n, 0)
            else:
                u = sobol.points(0, n, int(random_draws.random_words(seed, "p", 1, 1)[0]) >> 11)
            means.append(np.mean(np.exp(u)) - (math.e - 1))
        return np.sqrt(np.mean(np.square(means)))

    assert 2.5 < math.log2(error(64, True) / error(256, True)) < 3.5  # two doublings: 3
    assert 1.5 < math.log2(error(64, False) / error(256, False)) < 2.5


@pytest.mark.parametrize(("strata", "worlds"), [(10, 10), (7, 21), (16, 40), (1, 5), (1000, 3)])
def test_latin_hypercube(tmp_path, strata, worlds):
    got = column(tmp_path, f"lhs(3, 5, strata={strata})", worlds)
    share = (got - 3) / 2
    for first in range(0, worlds - strata + 1, strata):
        block = np.sort(share[first : first + strata])
        np.testing.assert_array_equal(np.floor(block * strata + 1e-9), np.arange(strata))
    assert (got >= 3).all()
    assert (got < 5).all()


def test_latin_hypercube_without_strata_is_one_of_its_worlds(tmp_path):
    qmc = pytest.importorskip("scipy.stats.qmc")
    words = [f"params.{name}=lhs(0, 1)" for name in "acde"]
    got = values(tmp_path, *words, worlds=50)
    table = np.array([list(world.values()) for world in got])
    for one in table.T:
        assert sorted((one * 50).astype(int)) == list(range(50))
    assert (
        table
        == np.array(
            [
                list(world.values())
                for world in values(tmp_path, *(f"params.{name}=lhs(0, 1, strata=50)" for name in "acde"), worlds=50)
            ]
        )
    ).all()
    # As even as SciPy's, not more, not less: the discrepancies of ten of theirs are around ours.
    theirs = [qmc.discrepancy(qmc.LatinHypercube(4, seed=k).random(50)) for k in range(10)]
    assert 0.5 * min(theirs) < qmc.discrepancy(table) < 2 * max(theirs)


def test_strata_are_filled_evenly_inside():
    stats = pytest.importorskip("scipy.stats")
    u = np.array(random_draws.latin_fractions(3, "p", 4000, 40))
    assert stats.kstest(u * 40 % 1.0, "uniform").pvalue > P_VALUE
    order = (u * 40).astype(int).reshape(100, 40)
    assert len({tuple(row) for row in order.tolist()}) == 100  # each block has a permutation of its own
    assert stats.chisquare(np.bincount(order[:, 0], minlength=40)).pvalue > P_VALUE


def test_choice(tmp_path):
    stats = pytest.importorskip("scipy.stats")
    got = column(tmp_path, "choice(1, 2, 3, 4, weights=[1, 0, 5, 2])", 4000)
    counts = [int((got == entry).sum()) for entry in (1, 3, 4)]
    assert sum(counts) == 4000
    assert stats.chisquare(counts, np.array([1, 5, 2]) * 500).pvalue > P_VALUE
    even = column(tmp_path, "choice(1, 2, 3)", 3000)
    assert stats.chisquare([int((even == entry).sum()) for entry in (1, 2, 3)]).pvalue > P_VALUE
    vectors = values(tmp_path, "world.gravity=choice([0, 0, -1], [0, 0, -2])", worlds=20)
    assert {tuple(world["world.gravity"]) for world in vectors} == {(0, 0, -1), (0, 0, -2)}


def test_zips_are_one_grid(tmp_path):
    got = values(
        tmp_path,
        "params.a=zip(1, 2, 3)",
        "params.d=7,8",
        "params.c=zip(10 cm, 20 cm, 30 cm)",
        "params.e=uniform(0, 1)",
        worlds=2,
    )
    assert len(got) == 3 * 2 * 2
    assert [(world["params.a"], world["params.d"]) for world in got[::2]] == [(1, 7), (1, 8), (2, 7), (2, 8), (3, 7), (3, 8)]
    assert [world["params.c"] for world in got] == pytest.approx([0.1] * 4 + [0.2] * 4 + [0.3] * 4)
    assert list(got[0]) == ["params.a", "params.d", "params.c", "params.e"]


@pytest.mark.parametrize("kind", ["zip", "list"])
def test_entries_that_go_in_step_are_judged_together(tmp_path, kind):
    """A limit whose two ends move: each alone would cross the other."""
    base = BASE.replace("damping: 0.1}", "limit: [-1, 1]}")
    words = [f"joints.pin.limit[0]={kind}(-1, 2)", f"joints.pin.limit[1]={kind}(1, 3)"]
    assert len(values(tmp_path, *words, base=base)) == 2
    assert fault(tmp_path, words[0], f"joints.pin.limit[1]={kind}(1, 1.5)", base=base).where.file == VARY


def test_lists_say_how_many_worlds_there_are(tmp_path):
    doc = document(tmp_path, "params.a=list(1, 2, 3)")
    assert n_worlds(resolve(doc)) == 3
    assert fault(tmp_path, "params.a=list(1, 2, 3)", worlds=2).code == "SC205"
    assert fault(tmp_path, "params.a=list(1, 2, 3)", "params.d=list(1, 2)").code == "SC205"


def test_seeds_are_those_of_the_draws(tmp_path):
    spec = resolve(document(tmp_path, "params.a=zip(1, 2)", "params.d=lhs(0, 1)", worlds=3))
    seeds = world_seeds(spec)
    assert seeds[:3] == seeds[3:]
    assert len(set(seeds)) == 3


def test_an_earlier_run(tmp_path):
    asked = []

    def read_run(path, name):
        asked.append((path, name))
        return [0.5, 0.7, 0.25], "m"

    (tmp_path / "earlier.h5").write_bytes(b"")
    how = "batch: {vary: {params.c: {from: {file: earlier.h5, measure: best}}}}\n"
    doc = document(tmp_path, more=how, read_run=read_run)
    spec = resolve(doc)
    assert [world["params.c"] for world in world_values(spec)] == [0.5, 0.7, 0.25]
    assert asked == [(str(tmp_path / "earlier.h5"), "measure.best")]
    fewer = document(tmp_path, more=how, worlds=2, read_run=read_run)
    assert len(world_values(resolve(fewer))) == 2
    assert [one.code for one in warnings(fewer)] == ["SC323"]
    assert fault(tmp_path, more=how, worlds=4, read_run=read_run).code == "SC205"
    assert fault(tmp_path, more=how.replace("params.c", "params.b"), read_run=read_run).code == "SC213"  # a mass
    bad = fault(tmp_path, more=how, read_run=lambda path, name: ([1.0, math.nan], "m"))
    assert bad.code == "SC321"
    assert "world 1" in bad.message
    assert (bad.where.line, bad.where.column) == (8, how.index("best") + 1)
    assert fault(tmp_path, more=how).code == "SC321"
    other = resolve(document(tmp_path, more=how, read_run=lambda path, name: ([1.0], "m")))
    assert resolved_yaml(spec) != resolved_yaml(other)


REFUSED = {
    "an unknown way": ("SC204", "params.a=unifrom(0, 1)", "unifrom", "did you mean `uniform`"),
    "an option of another way": ("SC207", "params.a=uniform(0, 1, strata=3)", "3", "it goes with lhs"),
    "an unknown option": ("SC204", "params.a=lhs(0, 1, strat=3)", "strat", "did you mean `strata`"),
    "no whole number of strata": ("SC203", "params.a=lhs(0, 1, strata=2.5)", "2.5", "whole"),
    "no strata": ("SC231", "params.a=lhs(0, 1, strata=0)", "0", "larger than 0"),
    "a range that falls": ("SC232", "params.a=lhs(1, 0)", "(", "[low, high]"),
    "a scrambled range that falls": ("SC232", "params.a=scrambled_sobol(1, 0)", "(", "[low, high]"),
    "a dimension too many": ("SC231", "params.a=sobol(0, 1, dimension=21)", "21", "less than 21"),
    "an empty choice": ("SC205", "params.a=choice()", "(", "at least one"),
    "an empty zip": ("SC205", "params.a=zip()", "(", "at least one"),
    "weights too few": ("SC205", "params.a=choice(1, 2, weights=[1])", "[1]", "one weight per entry"),
    "a negative weight": ("SC231", "params.a=choice(1, 2, weights=[1, -1])", "-1", "at least 0"),
    "weights of zero": ("SC231", "params.a=choice(1, 2, weights=[0, 0])", "[0", "as [1, 2, 1]"),
    "bounds that fall": ("SC232", "params.a=normal(1, 1, low=2, high=0)", "0", "low <= high"),
    "bounds beyond the tail": ("SC232", "params.a=normal(1, 0.01, low=9)", "9", "around the mean"),
    "bounds off a fixed number": ("SC232", "params.a=normal(1, 0, low=2)", "2", "around the mean"),
    "a number behind a name": ("SC113", "params.a=normal(1, low=0, 2)", "2", "named values last"),
    "a name twice": ("SC102", "params.a=normal(1, 1, low=0, low=0.5)", "low", "keep one"),
    "an unknown partner": ("SC322", "params.a=normal(1, 1, correlation={params.x: 0.5})", "params.x", ""),
    "itself": ("SC322", "params.a=normal(1, 1, correlation={params.a: 0.5})", "params.a: ", "another path"),
    "more than all": ("SC231", "params.a=normal(1, 1, correlation={params.x: 1.5})", "1.5", "at most 1"),
    "bounds and correlation": ("SC207", "params.a=normal(1, 1, low=0, correlation={params.b: 1})", "0, corr", "bounds"),
    "a deviation in another unit": ("SC213", "params.c=normal(1 m, 2 s)", "2 s", "one unit"),
    "a bound in another unit": ("SC213", "params.c=normal(1 m, 2 m, low=0 kg)", "0 kg", ""),
    "two files": ("SC113", "params.a=from(x.h5, y.h5, measure=m)", "y.h5", "from("),
    "a file without a measure": ("SC202", "params.a=from(x.h5)", "from", "add one"),
    "a file that is not there": ("SC110", "params.a=from(x.h5, measure=m)", "x.h5", ""),
    "a kind of measure that is none": ("SC204", "params.a=from(x.h5, mesure=m)", "mesure", "did you mean `measure`"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    code, text, at, hint = REFUSED[name]
    with pytest.raises(SceneError) as caught:
        resolve(document(tmp_path, text, worlds=2))
    (found,) = [one for one in caught.value.faults if one.code == code]
    assert found.where.file == VARY, found
    assert hint in found.hint, found
    assert abs(found.where.column - (text.rindex(at) + 1)) < 2, (found.where, text)


TOGETHER = {
    "a path nowhere beside a good one": ("SC303", "params.a=zip(1, 2)", "params.x=zip(1, 2)", "no such key"),
    "zips of two lengths": ("SC322", "params.a=zip(1, 2)", "params.d=zip(1, 2, 3)", "params.a"),
    "one dimension": ("SC322", "params.a=sobol(0, 1, dimension=1)", "params.d=sobol(0, 1)", "dimension 1"),
    "said twice": (
        "SC322",
        "params.a=normal(1, 1, correlation={params.d: 0.5})",
        "params.d=normal(1, 1, correlation={params.a: 0.4})",
        "twice",
    ),
    "a partner that is no normal": (
        "SC322",
        "params.a=normal(1, 1, correlation={params.d: 0.5})",
        "params.d=uniform(0, 1)",
        "no normal",
    ),
    "a partner that is cut": (
        "SC322",
        "params.a=normal(1, 1, correlation={params.d: 0.5})",
        "params.d=normal(1, 1, low=0)",
        "bounds",
    ),
    "a covariance too large": (
        "SC322",
        "params.a=normal(1, 1, covariance={params.d: 2.5})",
        "params.d=normal(1, 2)",
        "larger",
    ),
    "a covariance of a fixed number": (
        "SC322",
        "params.a=normal(1, 0, covariance={params.d: 1})",
        "params.d=normal(1, 2)",
        "larger",
    ),
    "a covariance in other units": (
        "SC213",
        "params.b=normal(1 kg, 1 kg, covariance={params.c: 0.1 kg})",
        "params.c=normal(1 m, 1 m)",
        "product",
    ),
}


@pytest.mark.parametrize("name", TOGETHER)
def test_what_does_not_go_together(tmp_path, name):
    code, *words, message = TOGETHER[name]
    with pytest.raises(SceneError) as caught:
        resolve(document(tmp_path, *words, worlds=4))
    found, *more = caught.value.faults
    assert (found.code, more) == (code, []), caught.value.faults
    assert message in found.message, found
    assert found.where.file == VARY


def test_correlations_that_cannot_be(tmp_path):
    words = [
        "params.a=normal(1, 1, correlation={params.d: 0.9, params.e: 0.9})",
        "params.d=normal(1, 1)",
        "params.e=normal(1, 1, correlation={params.d: -0.9})",
    ]
    found = fault(tmp_path, *words)
    assert found.code == "SC322"
    assert "`params.a`, `params.d`, `params.e`" in found.message


def rows_of_the_page():
    page = files("simcli").joinpath("docs", "batch.md").read_text(encoding="utf-8")
    return re.findall(r"^\| `(\{.*?\})` \| `([^|]*)` \| ", page, re.MULTILINE)


@pytest.mark.parametrize("row", rows_of_the_page(), ids=lambda row: row[1])
def test_spellings_of_the_page_mean_the_same(tmp_path, monkeypatch, row):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "earlier.h5").write_bytes(b"")
    written, typed = row
    other = "params.rest: {normal: [1, 0.1]}" if "params.rest" in written else ""
    base = BASE.replace("e: 1}", "e: 1, rest: 1}").replace("${e}", "${e*rest}")
    read = lambda path, name: ([1.0, 2.0], "")  # noqa: E731
    more = f"batch: {{worlds: 2, vary: {{params.a: {written}, {other}}}}}\n"
    in_scene = values(tmp_path, more=more, base=base, read_run=read)
    others = ["params.rest=normal(1, 0.1)"] if other else []
    assert values(tmp_path, f"params.a={typed}", *others, worlds=2, base=base, read_run=read) == in_scene


def test_editors_know_every_way():
    jsonschema = pytest.importorskip("jsonschema")
    schema = jsonschema.Draft7Validator(json_schema())
    for written, _ in rows_of_the_page():
        text = f"simcli: 1\nbatch: {{vary: {{params.a: {written}}}, table: {{file: x.csv, columns: {{l: params.l}}}}}}\n"
        assert [error.message for error in schema.iter_errors(plain(document_of_text(text, "x.yaml").root))] == [], written
    for bad in ("{lsh: [0, 1]}", "{lhs: [0]}", "{lhs: [0, 1], strata: a}", "{choice: 1}", "{from: {fil: x}}"):
        data = plain(document_of_text(f"simcli: 1\nbatch: {{vary: {{params.a: {bad}}}}}\n", "x.yaml").root)
        assert list(schema.iter_errors(data)), bad


@pytest.mark.parametrize("kind", WAYS)
def test_ways_go_through_templates(tmp_path, kind):
    """A number inside a model, and a parameter of one instance, in every world."""
    base = """\
simcli: 1
params: {a: 1}
models: {m: {params: {s: 1}, bodies: {b: {mass: "${s * a}", inertia: {diag: [1, 1, 1]}, com: [0.1, 0, 0]}}}}
instances: {left: {model: m, params: {s: 2}}, right: {model: m}}
run: {duration: 1}
"""
    paths = ("instances.left.params.s", "models.m.bodies.b.com[0]", "params.a")
    doc = document(tmp_path, *(f"{path}={WAYS[kind]}" for path in paths), worlds=2, base=base)
    spec = resolve(doc)
    for world in world_values(spec):
        bodies = resolve(doc, world).bodies
        s, x, a = (world[path] for path in paths)
        assert bodies["left/b"].mass == s * a
        assert bodies["right/b"].mass == a
        assert bodies["left/b"].com[0] == bodies["right/b"].com[0] == x


def test_the_page_has_every_way():
    keys = {key for written, _ in rows_of_the_page() for key in re.findall(r"(\w+): ", written)}
    assert set(VARY_KINDS) | set(OPTIONS) <= keys


CUTS = [(None, 1.2), (0.9, None), (0.8, 1.1), (1.3, None), (1.8, 1.85), (None, 0.2), (0.5, 9)]


@pytest.mark.parametrize(("low", "high"), CUTS)
def test_truncated_normals(low, high):
    stats = pytest.importorskip("scipy.stats")
    value = random_draws.normal_quantiles(1.0, 0.1, low, high)
    u = np.array(random_draws.even_fractions(5, "p", 4000))
    got = np.array([value(one) for one in u])
    a, b = ((-np.inf if low is None else low) - 1) / 0.1, ((np.inf if high is None else high) - 1) / 0.1
    law = stats.truncnorm(a, b, loc=1.0, scale=0.1)
    assert stats.kstest(got, law.cdf).pvalue > P_VALUE
    assert low is None or (got >= low).all()
    assert high is None or (got <= high).all()
    ends = [value(0.0), value(1.0 - 2.0**-53)]
    assert np.isfinite(ends).all()
    quantiles = np.sort(np.array([value(one) for one in (0.1, 0.5, 0.9)]))
    np.testing.assert_allclose(quantiles, np.sort(law.ppf([0.1, 0.5, 0.9])), rtol=1e-9)


def test_bounds_far_away_change_next_to_nothing(tmp_path):
    free, cut = column(tmp_path, "normal(1, 0.1)", 50), column(tmp_path, "normal(1, 0.1, low=-3, high=5)", 50)
    np.testing.assert_allclose(cut, free, rtol=1e-12)


MEANS, DEVIATIONS = np.array([1.0, 2.0, 0.1]), np.array([0.1, 0.3, 0.02])
CORRELATION = np.array([[1, 0.8, -0.3], [0.8, 1, 0.1], [-0.3, 0.1, 1]])
NORMALS = [
    "params.a=normal(1, 0.1, correlation={params.b: 0.8, params.c: -0.3})",
    "params.b=normal(2 kg, 0.3 kg)",
    "params.c=normal(10 cm, 2 cm, correlation={params.b: 0.1})",
]


def test_correlated_normals(tmp_path):
    stats = pytest.importorskip("scipy.stats")
    n = 4000
    got = values(tmp_path, *NORMALS, worlds=n)
    table = np.array([[world[f"params.{name}"] for name in "abc"] for world in got])
    covariance = CORRELATION * np.outer(DEVIATIONS, DEVIATIONS)
    law = stats.multivariate_normal(MEANS, covariance)
    # The squared distance is chi-squared, and so is every projection normal.
    distance = np.einsum("ni,ij,nj->n", table - MEANS, np.linalg.inv(covariance), table - MEANS)
    assert stats.kstest(distance, stats.chi2(3).cdf).pvalue > P_VALUE
    for direction in np.vstack([np.eye(3), [[1, 1, 1], [1, -1, 3]]]):
        scale = math.sqrt(direction @ covariance @ direction)
        assert stats.kstest((table - MEANS) @ direction, stats.norm(scale=scale).cdf).pvalue > P_VALUE
    np.testing.assert_allclose(np.cov(table.T), covariance, atol=5 * 0.09 / math.sqrt(n))
    assert np.isfinite(law.logpdf(table)).all()


def test_correlated_normals_do_not_depend_on_order_number_or_others(tmp_path):
    first = values(tmp_path, *NORMALS, worlds=9)
    for order in itertools.permutations(NORMALS):
        assert [dict(sorted(world.items())) for world in values(tmp_path, *order, worlds=9)] == [
            dict(sorted(world.items())) for world in first
        ]
    more = values(tmp_path, *NORMALS, "params.d=normal(1, 0.1)", worlds=40)
    assert [{key: value for key, value in world.items() if key != "params.d"} for world in more[:9]] == first
    alone = column(tmp_path, "normal(1, 0.1)", 9)
    assert alone.tolist() == [world["params.a"] for world in first]  # a is the first of the alphabet


def test_covariance_is_correlation_in_units(tmp_path):
    mass, length = "params.b=normal(2 kg, 300 g)", "params.c=normal(10 cm, 2 cm, {})"
    by_correlation = values(tmp_path, mass, length.format("correlation={params.b: 0.5}"))
    by_covariance = values(tmp_path, mass, length.format("covariance={params.b: 300 g*cm}"))
    assert by_covariance[0]["params.c"] == pytest.approx(by_correlation[0]["params.c"], rel=1e-14)


def test_full_correlation_is_a_line(tmp_path):
    got = values(tmp_path, "params.a=normal(1, 0.1)", "params.d=normal(5, 2, correlation={params.a: -1})", worlds=20)
    for world in got:
        assert (world["params.d"] - 5) / 2 == pytest.approx(-(world["params.a"] - 1) / 0.1, abs=1e-12)
