"""Joints: the catalogue, and what a scene says of each.

In: joints of a scene. Out: their axes, anchors, drives, gears, and the coordinates that need a law. Never here: how joints
make a tree (tree), constraint rows as tables (constraints).

    tables        joints, their dofs and their gears, as tables
    motion_axes   motion axes of joints, and their makers: one for each way in which a joint moves
    catalogue     the joint catalogue: one entry per joint type, with its motion axes and its bilateral rows
    rows          numbers of the joint catalogue at given poses: motion columns, gradients of rows
    anchors       anchors of joints as the scene writes them, where forces are reported and sensors stand
    placeless     hinges whose place is not written, of bodies that are drawn about their centre of mass
    joint_inputs  joints of a scene: axes, anchors, the poses that follow from them, and what acts on each dof
    drives        which fields of a drive its mode reads, for all drives of a model at once
    gears         gears of a scene: which joint follows which, and how the initial state of the followers follows
    combinations  sums of coordinates that have laws of their own or are held, as tables
    combined      the form of a model in which these are coordinates of joints without bodies
    lawful        which coordinates need a law: something acts on them that a smooth force of the tree cannot state
"""
