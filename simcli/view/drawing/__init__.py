"""A scene as a drawing: items, colours, cameras, of one world.

In: numbers of a model or of a file. Out: items. Never here: how they are shown.

    palette  colours of what a scene gives none: told apart by people of all kinds of colour vision
    parts    what a drawing is made of
    tables   the numbers of one world that a drawing is made of, from a model or from the file of a run
    solids   shapes of a scene, and shapes that are only seen, as items
    glyphs   what stands for bodies that have no shapes: bars between the points of a body, or the solid of its inertia
    joints   joints as items: a hinge is a bearing about its axis, a slide a rail and a block, a ball a socket
    scene    a scene as a drawing: items, colours and cameras, of one world
"""
