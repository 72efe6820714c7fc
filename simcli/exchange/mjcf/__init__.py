"""MJCF to a mechanism, by way of the model that MuJoCo compiles.

In: an MJCF file, with what it includes. Out: links, joints, shapes, forces and sections of a scene; an entry of the
report for each element of the file. Never here: the text of a scene. MuJoCo is imported in one place, and a scene needs
it no more.

    reading    a file as a mechanism: the order in which its parts are made
    source     the file, and the model that MuJoCo compiles of it, with the element of each part
    bodies     links, and joints one after the other
    shapes     geoms, sites and cameras
    touching   layers, pairs and materials
    acts       what parts that act have in common
    tendons    couplings, springs and distances
    actuators  drives of joints and of couplings
    equalities loop joints, gears, and coordinates that are held
    sensors    sensors, by a table of types
    keyframes  states by name
    options    gravity, time step, integrator
    attributes what the importer makes of each attribute of MJCF
    element_report  what became of each element and attribute
"""
