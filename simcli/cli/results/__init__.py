"""Commands on files that runs have left.

In: results. Out: text, pictures, other files. Never here: kernels.

    info            `simcli info`: what is in an output file
    table           `simcli table`: a row per world
    plot            `simcli plot`: a picture of channels over time, or of measures over worlds
    view            `simcli view`: a page that shows the motion
    render          `simcli render`: pictures and films of a run, without a display
    export          `simcli export`: a run, or a scene, in the files of other programs
    export_model    a scene as a model of another format
    export_formats  suffix to writer: the one place that knows which formats there are
    diff            `simcli diff`: what differs between two runs
    diff_text       what `simcli diff` has found, in words and as JSON
    slice           `simcli slice`: a part of a run as a run
    merge           `simcli merge`: the worlds of several runs in one file
    repair          `simcli repair`: a file whose writer was killed, for every HDF5 program
"""
