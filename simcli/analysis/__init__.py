"""Analysis: the meaning of a result.

In: a `Trajectory` (an HDF5 file opened by name) and, for expectations, the scene that it came from. Out: named series
of numbers with units, verdicts, pictures, tables of text. Never found here: time stepping, Taichi, h5py, printing.

    channels      `joint.pin.q`, `energy.total`, ... -> numbers, labels, units
    expectations  the `expect:` of a scene, judged per world
    plot          pictures of channels
    export        channels as CSV
    estimate      what a run will take
"""
