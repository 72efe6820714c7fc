"""Numbers as they are written.

In: texts and numbers of a tree. Out: floats in SI, and the field types of the schema. Never here: what a key stands for.

    varied          a number that differs between worlds, in the place of a number
    units           numbers with units: "5 cm", "120 rpm", "10 N*m/rad" to SI, with the dimension checked
    expressions     arithmetic in `${...}`: a whitelist over Python's syntax tree, in double precision
    braces          arithmetic on names in braces, as that of signals and of conditions on columns
    ranks           who has written a number: the file, its batch, an option, or who runs it; itself or through parameters
    scopes          parameters: a scope of named numbers that may refer to each other, inside an outer scope
    spec_model      base of all schema classes, whose validators are made when a scene needs them
    quantities      field types of the schema: numbers with a dimension, vectors, signals, counts; and `doc`
    unit_texts      texts with a unit in a tree, turned to SI before the schema
    quantity_units  units of bounds and of noise: those of their quantities
    joint_units     units of values that belong to joints: metres or radians by the joint's dofs
"""
