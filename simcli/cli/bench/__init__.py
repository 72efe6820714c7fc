"""`simcli bench`: how fast it is here.

In: scenes, counts. Out: rates. Never here: peers, which tests/benchmarks times.

    bench    `simcli bench`: speed of runs and of inverse dynamics
    scenes   the scenes that `simcli bench` times when it is given none
    contact  the scenes of `simcli bench` that touch: falling humanoids, stacks of boxes
    cubes    `simcli bench --task cubes`: piles of cubes with barrier contact, steps per second and Newton iterations
    threads  what several threads gain over one
    work     what `simcli bench` times: whole runs of a scene, and inverse dynamics of random states
"""
