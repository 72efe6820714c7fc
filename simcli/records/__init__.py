"""Records: numbers to disk and back. The only room with h5py.

In: a `Model`, `FrameBlock`s, a `Provenance`. Out: one HDF5 file (`layout` is its table of contents), and a `Trajectory`
that reads it by name. Never found here: physics, Taichi, scene parsing, printing, exit codes.

    layout      every dataset as data: path, axes, unit, meaning
    select      which bodies and joints a file keeps (`output.select`)
    chunks      how many frames make a commit, and the chunk shapes
    model_columns  /model as data
    create      the whole file, before the first frame
    growing     its datasets, digest and counters while it grows
    backing     a file whose failures are told to us
    provenance  where a file comes from
    ring        frames in memory that two processes see
    messages    what they say to each other
    spawn       start the process that writes
    writer      Recorder: what a run hands its frames to
    backlog     what was handed over and is not committed
    output_file the growing file, commit by commit
    recorder_process  the process that writes
    drafts      a file is written whole or not at all
    tidy        what killed runs leave beside their files
    checkpoint  the state of a run beside its file
    continuation  may a file be written, and where does an unfinished one go on
    digest      what "the same bytes" means
    error_estimate  /error_estimate: what the length of the step does, added at the end
    lock        one writer per file
    guard       the door for files that are not ours
    series      lazily sliced columns
    tiles       parts of two columns, in whole chunks
    named       joints, bodies, points and quantities of a trajectory by name
    reader      Trajectory
    results     the files of fk, ik, id, mass-matrix and jacobian, and their writer
    result_reader  Results, and `open_any` for either kind of file
    stored_model  the model of a run, out of its file
    parts_file  a file made of parts of others
    integrity   verify and info
    bits        what differs between two runs bit by bit
    superblock  the mark that a killed writer leaves
    repair      a file whose writer was killed
"""
