"""Records: numbers to disk and back. The only room with h5py.

In: a `Model`, `FrameBlock`s, a `Provenance`. Out: one HDF5 file (`contents/layout.py` is its table of contents), and a
`Trajectory` that reads it by name. Never found here: physics, Taichi, scene parsing, printing, exit codes.

Folders, bottom to top: contents, reading, integrity, writing. The files beside them are below all of these.
"""
