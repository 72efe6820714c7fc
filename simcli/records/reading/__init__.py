"""Files opened by name.

In: a path, of a file that need not be ours. Out: a Trajectory or Results, or a FileError. Never here: writing.

    counts         what counts of a file: status, committed frames, and the events, contacts and digest of them
    guard          the door for files that are not ours: whatever stands at a path, it opens checked or it is a FileError
    series         lazily sliced columns: an array over (frame, world, component) that reads only what is asked for
    tiles          tiles: parts of two like datasets over frames and worlds, in whole chunks and of bounded size
    named          what a trajectory holds, by name: joints, bodies, points, and the quantities of a group
    reader         Trajectory: a file by name
    results        the files of fk, ik, id, mass-matrix and jacobian, and their writer
    result_reader  Results, and `open_any` for either kind of file
    stored_model   the model of a run, out of its file
    parts_file     a file made of parts of others: frames, worlds, channels, bodies and joints of one
"""
