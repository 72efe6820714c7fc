"""The file of a run while it grows, written by a process of its own.

In: a RunPlan's counts, FrameBlocks. Out: commits. Never here: what the numbers mean.

    backing           a file whose failures are told to us
    create            the whole file, before the first frame: groups, datasets, scales, model, parameters, provenance
    ragged            rows of the tables that do not go by frames: events and contacts of one commit
    growing           its datasets, digest and counters while it grows
    output_file       OutputFile: the growing file, commit by commit
    ring              frames in memory that two processes see
    messages          messages between a run and its recorder: pickled objects through a pipe, each after its length
    spawn             start the process that writes a file, and talk to it
    backlog           what the recorder was handed and has not committed yet: when a commit is due, and what is in it
    writer            Recorder: what a run hands its frames to
    recorder_process  the process that writes
    recorder_thread   a thread in its place, for small files
"""
