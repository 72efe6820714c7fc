"""Is a file whole, does it equal another, can it be mended?

In: paths. Out: verdicts, a mended file. Never here: what the numbers mean.

    superblock    the first 48 bytes of an HDF5 file, and the mark that a killed writer leaves in them
    heaps         the global heaps of an HDF5 file, where texts of variable length lie
    verification  is a file whole (`verify`), and what is in it (`info`)
    bits          what differs between two runs bit by bit: every recorded dataset, the model and the parameters
    repair        make a file whose writer was killed readable for every HDF5 program
"""
