"""Analysis: the meaning of a result.

In: a `Trajectory` (an HDF5 file opened by name) and, for expectations, the scene that it came from. Out: named series
of numbers with units, verdicts, pictures, tables of text. Never found here: time stepping, Taichi, h5py, printing.

    channels      any recorded number by a name that a person would write
    conditions    conditions on columns of numbers and words: `{measure.peak} > 3 and {status} == ok`
    condition_texts  their text: numbers with units, names that lack their braces
    expectations  the `expect:` of a scene, judged per world on the finished trajectory
    drift         how far the ledger of energy of a run is off, and what would do better
    refinement    what the length of the step does to a run
    estimate      what a run will take, before it starts: counts, size of the file, memory
    parts         which parts of runs make a new one: what is asked for, checked, and handed to `records.reading.parts_file`
    natural_map   how far velocities and impulses are from Coulomb's law and unilateral contact, in m/s
    worlds        a row per world
    plots         pictures of channels and of worlds
    export        runs in the files of other programs
    diff          what differs between two runs: scenes, versions, names, and numbers by frame, world and name
    states        states that somebody has, or that a run went through
    mechanics     kinematics and dynamics of states
    rest          a mechanism at rest, and its small motions
"""
