"""Commands that run scenes: once, to compile their kernels, or to see how fast it is here.

In: scenes. Out: trajectories, times. Never here: how a step is taken.
"""
