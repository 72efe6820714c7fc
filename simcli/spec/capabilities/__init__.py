"""Which solver supports which field. What the chosen solver does not support is refused by name.

In: a tree or a SceneSpec and its solver. Out: faults, and the page of it. Never here: what a solver does with a field.

    solver_fields  which solver supports which field
    joint_fields   which solver supports which field of which joint type, as data; the check that refuses the rest
    drives         what a drive reads in each of its modes, and what a limit reads; the check that refuses the rest
    smooth         what generalized_alpha takes
"""
