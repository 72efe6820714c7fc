"""The file of a run while it grows, written by a process of its own; where it goes on; files made of others.

In: a model, frames, events, contacts. Out: an HDF5 file, commit by commit.
"""
