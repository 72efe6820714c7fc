"""Checks of a scene that passed the schema.

In: a SceneSpec and its tree. Out: faults. Never here: numbers of a model; what needs them is refused there.

    checker      what the checks of a scene share: the scene, its tree, the names in it, and the way to a fault
    references   names and references: every name that a scene uses must exist
    shapes       sizes and directions of shapes
    look         what is drawn: cameras that are there and look somewhere, shapes that have a size
    mechanism    checks of the mechanism: bodies, joints, forces, and what a solver asks of them
    runs         checks of what is done with the mechanism: its run, its events, its batch
    every_check  all checks of a scene that passed the schema, in one paragraph
"""
