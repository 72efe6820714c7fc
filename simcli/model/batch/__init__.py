"""Many worlds as one model, and parts of it.

In: scenes of one structure, or models. Out: arrays with a world axis where worlds differ; models with other numbers;
selections. Never here: where the numbers come from (spec/batches).

    gather       numbers out of many scenes at once: one array per quantity
    join         several models of one structure, each of some worlds, as one model of all of them
    edit         a model with other numbers: the same structure, some columns replaced
    restore      a model with what a file has kept of the worlds of a run
    param_units  SI units of varied parameters, by their dotted path
    selection    which bodies and joints of a model a selection means, and what belongs to an articulation
    groups       articulations of one structure side by side: which joints, bodies and coordinates of each a view shows
"""
