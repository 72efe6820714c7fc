"""The theory pages: constants that they tell are those of the code, and every source has author and year."""

import re
from importlib.resources import files

import pytest

from simcli.kernels.barrier.advance import KEPT_GAP
from simcli.kernels.barrier.law import PARALLEL
from simcli.kernels.complementarity.problem import LIMITS, SCHEDULE
from simcli.kernels.linear.system import FEWER_WEIGHTS, SOFTNESS, WEIGHTS
from simcli.model.natural.form import THIN
from simcli.solvers.impulses.direction import STABLE
from simcli.solvers.natural.memory import FARTHEST_TURN, MOST_SOFT, SOFTNESS_OF_TURN
from simcli.solvers.tree.integrators import GAMMA, RK4_WEIGHTS

SUBSCRIPTS = "₀₁₂₃₄"
PAGES = {entry.name.removesuffix(".md"): entry.read_text(encoding="utf-8") for entry in
         files("simcli").joinpath("docs").iterdir() if entry.name.startswith("theory")}  # fmt: skip


def weighted(weights):
    """`6 x₂ - 8 x₃ + 3 x₄` of (0, 6, -8, 3)."""
    terms = [f"{abs(k):g} x{SUBSCRIPTS[n + 1]}" for n, k in enumerate(weights) if k]
    signs = ["" if n == 0 else " + " if k > 0 else " - " for n, k in enumerate(k for k in weights if k)]
    return "".join(sign + term for sign, term in zip(signs, terms, strict=True))


def counted(numbers):
    """`8, 100 and 12`."""
    return f"{', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"


@pytest.mark.parametrize(
    ("page", "words"),
    [
        ("theory", weighted(WEIGHTS)),
        ("theory", weighted(FEWER_WEIGHTS)),
        ("theory", f"{SOFTNESS['float64']:.0e} of J M⁻¹ Jᵀ ({SOFTNESS['float32']:.0e} in float32)".replace("e-0", "e-")),
        ("theory-maximal", f"larger than {STABLE}"),
        ("theory-natural", f"ends a world at {FARTHEST_TURN}"),
        ("theory-natural", f"e = {SOFTNESS_OF_TURN} (h ω)²"),
        ("theory-natural", f"at most {MOST_SOFT:.0e}".replace("e-0", "e-")),
        ("theory-natural", f"with {THIN:.0%} of the largest moment".replace("%", " %")),
        ("theory-affine", f"s a part {PARALLEL:.0e} of".replace("e-0", "e-")),
        ("theory-contact", "κ = {float64:.0e} at first ({float32:.0e} in float32)".format(
            **{precision: limits.kappa for precision, limits in LIMITS.items()}).replace("e-0", "e-")),
        ("theory-contact", f"The lengths of the stages are {counted([most for _, most, _ in SCHEDULE])} iterations"),
        ("theory-contact", "in the order " + " ".join({0: "1", 2: "2", 1: "3"}[kind] for kind, _, _ in SCHEDULE)),
    ],
)
def test_constants_are_those_of_the_code(page, words):
    assert words in " ".join(PAGES[page].split()), words


def test_formulas_with_numbers_are_those_of_the_code():
    assert pytest.approx(1 - 2**-0.5) == GAMMA
    assert "γ = 1 - 1/√2" in PAGES["theory-generalized"]
    assert pytest.approx((1 / 6, 1 / 3, 1 / 3, 1 / 6)) == RK4_WEIGHTS
    assert pytest.approx(0.1) == KEPT_GAP
    assert "a tenth of each gap" in PAGES["theory-affine"]


@pytest.mark.parametrize("page", PAGES)
def test_every_source_has_a_year_and_is_cited(page):
    text, sources = PAGES[page].split("## Sources")
    entries = [" ".join(entry.split()) for entry in re.split(r"^- ", sources, flags=re.MULTILINE)[1:]]
    assert entries
    for entry in entries:
        year = re.search(r"(?:19|20)\d\d", entry)
        assert year, entry
        names = re.findall(r"[A-Z][a-z]+", entry.split(year.group())[0])
        assert any(re.search(rf"{name}[^;]{{0,80}}{year.group()}", " ".join(text.split())) for name in names), entry
