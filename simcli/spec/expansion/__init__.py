"""From the file as written to the tree that is simulated.

In: a marked tree. Out: the same without defaults, models, instances and expressions. Never here: the schema.

    planes     the plane of planar scenes: its axes, and what stands for an axis that is not written
    placing    where the content of a template goes: prefixes of names, and poses
    frames     poses that are given in frames of bodies, and what they are in what owns them
    templates  defaults, models, instances and replicas: from the file as written to the tree that is simulated
    starts     where a scene begins: the one order of all that speaks of a coordinate or a velocity at the start
    keyframes  initial states by name: what `initial` says of a keyframe, and what it writes on top
    joint_columns  a table of many columns as one signal, of which each joint takes the column of its name
    expand     the tree that is simulated: templates, expressions and units of joints worked out
"""
