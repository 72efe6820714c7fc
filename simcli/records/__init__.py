"""Records: numbers to disk and back. The only room with h5py.

In: a `Model`, `FrameBlock`s, a `Provenance`. Out: one HDF5 file (`layout` is its table of contents), and a `Trajectory`
that reads it by name. Never found here: physics, Taichi, scene parsing, printing, exit codes.

    contents   what a file holds, as data
    drafts     a file that is written whole or not at all: under another name, and renamed at its end
    marks      our mark in the metadata of pictures, films and pages
    writing    the file of a run while it grows, written by a process of its own
    resume     one writer per file, and where an unfinished one goes on
    reading    files opened by name
    integrity  is a file whole, does it equal another, can it be mended?
"""
