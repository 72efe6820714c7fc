"""Text to a tree with the place of every word.

In: YAML files, their includes, overrides of the command line. Out: a Document. Never here: what the words mean.

    nodes         the tree of a scene file with a mark on every key and every value, and dotted paths into it
    scalars       plain scalars by the core schema of YAML 1.2, without what surprises: no octal by a leading zero
    loader        YAML text to a marked tree, from the event stream of PyYAML
    syntax        what is wrong with a text that no YAML parser takes, told where the mistake was made
    syntax_block  indentation, colons and dashes of such a text, line by line
    syntax_flow   brackets, quotes and commas of such a text, in one pass
    paths         dotted paths that a scene writes as text: whether they lead anywhere, and the fault of one that does not
    lookup        values of a scene by their path
    overrides     values from the command line, laid on the tree of a scene
    held_files    a folder in memory: the files of a scene that stand in a result, read as those of a folder on disk are
    named_files   files that a scene names: below its folder, and regular
    packed        a scene with its options and all files that it was read from, as bytes
    defaults      values of `defaults` in their places; those of an included file are its own
    scene_file    a scene file with its includes and `--set` overrides, as one marked tree
"""
