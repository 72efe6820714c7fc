"""Threads of a CUDA warp that have come to different lines of a program, each for a world of its own.

A warp takes one instruction at a time, for those of its threads that stand there. Worlds that repeat different numbers of
turns would stay apart until the end of the step, and the warp would take their stages one world after another. So threads at
the first line of all go on, and the others wait for them.
"""

from simcli.kernels.language import ti


@ti.func
def threads_beside():
    """The mask of the threads of this warp that are here."""
    return ti.cast(ti.simt.warp.active_mask(), ti.u32)


@ti.func
def is_first(beside: ti.u32, line: ti.i32, n_bits: ti.template()):
    """Whether no thread beside this one stands at an earlier line: 1 or 0, found bit by bit, from the highest on.

    Args:
        beside: threads that call this together, of `threads_beside`.
        line: of this thread, below 2^n_bits.
    """
    candidate = 1
    for k in ti.static(range(n_bits)):
        lower = candidate & (1 - ((line >> (n_bits - 1 - k)) & 1))
        if ti.simt.warp.any_nonzero(beside, lower) != 0:
            candidate = lower
    return candidate


@ti.func
def wait_for(beside: ti.u32):
    """Wait for the threads of a mask, all of which come here."""
    ti.simt.warp.sync(beside)
