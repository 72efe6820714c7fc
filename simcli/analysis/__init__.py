"""Analysis: the meaning of a result.

In: a `Trajectory` (an HDF5 file opened by name) and, for expectations, the scene that it came from. Out: named series
of numbers with units, verdicts, pictures, tables of text. Never found here: time stepping, Taichi, h5py, printing.

    channels      `joint.pin.q`, `energy.total`, ... -> numbers, labels, units
    expectations  the `expect:` of a scene, judged per world
    plot          pictures of channels
    export        channels as CSV
    diff/         what differs between two runs
    refinement/   what the length of the step does to a run
    estimate      what a run will take
    evaluate      forward kinematics, projection and the like, of a State from Python
    articulation_view   ArticulationView: articulations of one structure as arrays (view_shape, view_data are its halves)

and of states that somebody has, or a run went through:

    subject       the mechanism: a scene, or the one inside a file
    states        states in portions, from the scene or the command line; which of them are wanted
    run_states    those of a run, at the instants of its accelerations
    columns       the names of their numbers in tables
    state_tables  those of CSV tables and of results
    sources       all of these brought together
    mechanics     the rigid-body algorithms for states of any worlds
    tasks         forward kinematics, projection, inverse dynamics, mass matrix, Jacobian
    verdicts      the largest residual or difference
    result_tables results as CSV

and of a mechanism at rest:

    statics       what is out of balance over the directions that rows leave; stiffness and damping
    equilibrium   search of a static equilibrium
    spectrum      eigenvalues of small motions
    modes         all of it for a scene, in its words
"""
