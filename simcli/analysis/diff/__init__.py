"""What differs between two runs: scenes, versions, names, and numbers by frame, world and name.

In: two open `Trajectory`s. Out: a `Comparison`, or the differing bits. Channels, bodies and joints are matched by name, so
that the files may have other solvers, steps, selections, orders and types. Everything is read in tiles of bounded size.

    scene_keys  keys of the scenes, facts of the provenance, names, parameters
    world_pairs which world of the one file is compared with which of the other
    frame_pairs which frame of the one file is compared with which of the other
    rising_numbers  numbers of frames in little memory
    labelled    columns of a file with the names of their components
    extremes    the largest differences of columns that come in parts
    contact_lists  contacts, matched by frame, world and pair of shapes
    event_lists events, matched by world, code and subject
    model_tables  numbers of /model, matched by name
    comparison  all of it
"""
