"""The spanning tree as links, and what follows from its shape.

In: joints and bodies by index. Out: links, order, kinematics in numpy, symbolic factorisation. Never here: scenes.

    tables        the spanning tree as a table of elementary links
    topology      the order in which a tree is walked: names and numbers of joints only, no geometry
    placing       the order in which bodies are placed, and which joint outside the tree places a free body
    links         the spanning tree as elementary links: chains of helices, balls
    link_frames   points and directions of bodies in the frames of the links that carry them
    unknowns      the unknowns of the equations of motion: velocities of the tree, in the order of its links
    reference     kinematics and inertias of the link tree in plain numpy, for all worlds at once
    elimination   symbolic factorisation
    mobility      how many of the rows of a mechanism are independent at a configuration
    explicit      damping that explicit steps cannot follow, found at the start
    gimbals       joints of three angles whose axes fall together
    directions    which worlds need the directions of joints where steps end
    maximal_form  the maximal form of a model: every body on a free joint of its own, every joint of the scene a set of rows
"""
