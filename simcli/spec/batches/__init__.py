"""Many worlds and many scenes out of one text.

In: the batch of a scene, the files that it names, a sweep file. Out: values per world, scenes per case. Never here: runs;
HDF5 (whoever reads a scene lends a function that reads earlier runs).
"""
