"""Analysis: the meaning of a result.

In: a `Trajectory` (an HDF5 file opened by name) and, for expectations, the scene that it came from. Out: named series
of numbers with units, verdicts, pictures, tables of text. Never found here: time stepping, Taichi, h5py, printing.

Folders, bottom to top: worlds, states; diff, mechanics; export; and rest. The files beside them are below all of these.
"""
