"""Where the worlds of a batch get their numbers: files with a row per world, earlier runs, and points that fill a range.

In: names of files, ranges, seeds. Out: numbers per world, and faults with file, line and column. Never here: what a scene
does with the numbers, HDF5 (whoever reads a scene lends a function that reads runs).

    files       where the files that a batch names are
    csv_text    the one reader of CSV text: encoding, lines, cells
    sheets      a CSV or Parquet file as headers with units and columns of numbers
    columns     what a table comes to: values per path and world, and their places in the file
    table       which column is for which path
    reading     the files that a batch names, read once per scene
    typed       options that name files, with these named otherwise
    points      Latin hypercubes and Owen's scrambling of Sobol points
    normals     truncated and correlated normal distributions
"""
