"""States that somebody has, or that a run went through.

In: a scene or a result, tables of states. Out: a model and states in portions. Never here: what is computed of them.

    subject       the mechanism that a command on states is about: a scene file, or the scene inside a run or a result
    columns       column names of states in tables of text: one list for writing and for reading
    portions      states of a mechanism: what the commands on kinematics and dynamics compute with
    given         numbers of the command line in place of those of the initial state
    run_states    the states of a run, as its integrator used them
    state_tables  states out of tables: CSV files with a header of names (`columns`)
    sources       from a mechanism and a file of states to what is computed with: the model, the states
"""
