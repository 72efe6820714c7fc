"""Runs that a program steps by hand.

In: a solver that has not begun. Out: steps, frames of where the worlds stand, worlds that begin anew. Never here: what
a step does, files.

    ready_calls  kernels that are called again and again
    beginnings   what worlds begin with, from which some of them begin anew
    own_phases   events at a time in worlds that begin one by one
    host_copy    what the host knows of each world after each call, without a frame
    stepwise     a run that a program steps by hand: steps without frames, worlds that begin anew
    on_device    quantities of a frame where they are in the memory of a GPU
"""
