"""What can be known of a scene by its names alone.

In: a tree or a SceneSpec. Out: which names a pattern means, which joints make the tree, what a channel is called. Never
here: geometry, numbers of the physics.

    patterns       the one language of selection: which of some names a pattern means
    dofs           what the spec must know of joint types: their dofs, in the order of joint_qd, and which keys they take
    structure      which joints make the tree, which close loops, which bodies are free
    parting        which bodies never touch: those that joints connect, and what is part of the world
    sensor_types   what sensors give, a line for each type
    channel_names  names of what a run finds, one grammar for all who ask
    quantity_patterns  which quantities a pattern of `output.quantities` means
    reductions     how the values of a quantity over a run become one number, and in which unit
    signal_readers  which signals of a scene something reads
    signal_uses    where a scene uses its signals, and in which unit
    sweep_columns  columns that the table of a sweep has of its own
"""
