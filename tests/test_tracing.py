"""Taichi's front end in fewer words makes the same programs, and still says where a mistake is."""

import pytest
from support.device import live_device
from support.runs import MIXED

from simcli.kernels.language import ti, traces, tracing
from simcli.kernels.language.compilations import kernels_noted
from simcli.pipeline import Request, execute, prepare


def key_of_run(folder, name):
    """The key of the kernel that a scene takes, which is traced for it."""
    traces.forget_traces()
    (folder / "mixed.yaml").write_text(MIXED)
    with kernels_noted() as taken:
        execute(prepare(Request(folder / "mixed.yaml", folder / f"{name}.h5", force=True)))
    assert taken[0].trace > 0
    return [kernel.key for kernel in taken]


def test_programs_are_those_of_taichis_own_front_end(tmp_path, monkeypatch):
    ours = key_of_run(tmp_path, "ours")
    with monkeypatch.context() as patch:
        for owner, name, function in tracing.TAICHIS:
            if name != "warn_if_is_external_func":  # which changes no program
                patch.setattr(owner, name, function)
        taichis = key_of_run(tmp_path, "taichis")
    assert ours == taichis


@ti.func
def twice(x):
    return x + x


def made(function):
    """The result of a kernel of a function that is built into it."""
    live_device()

    @ti.kernel
    def kernel() -> ti.f64:
        return function()

    return kernel()


def test_mistakes_are_told_with_their_place():
    @ti.func
    def wrong():
        return twice(nothing)  # noqa: F821

    with pytest.raises(ti.TaichiCompilationError, match=r'test_tracing.py", line \d+, in wrong:\n +return twice\(nothing\)'):
        made(wrong)


def test_whole_numbers_up_to_32_bits_are_constants():
    @ti.func
    def widest():
        return ti.cast(ti.cast(0, ti.i32) + 2147483647, ti.f64)

    assert made(widest) == 2**31 - 1


def test_longer_ones_are_refused():
    @ti.func
    def wider():
        return ti.cast(ti.cast(0, ti.i32) + 2147483648, ti.f64)

    with pytest.raises(ti.TaichiTypeError, match="exceeded the range of default_ip"):
        made(wider)
