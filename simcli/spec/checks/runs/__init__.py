"""Checks of what is done with the mechanism: its run, its events, its batch, and what is asked of the result.

In: a Checker. Out: faults. Never here: values per world; they are checked as scenes.

    times       times of a run
    events      events: which values may change during a run, and that each change leaves a scene that is sound
    controls    controls of `initial` and of keyframes: paths that lead to what a program would control
    batch       the batch: every varied path leads to a number that may differ between worlds
    together    what the batch declares of several paths: zips, dimensions of the Sobol sequence, correlations, units
    quantities  names of quantities: whether they are there, and which components they have
    measure     what `measure` names: whether it is there, whether it has such components
    expect      what `expect` and `run.stop_when` name: whether it is there, when, and whether there is a newer spelling
"""
