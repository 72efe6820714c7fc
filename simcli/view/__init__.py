"""What is seen of a mechanism and of its motion.

In: a scene and its model, or a run. Out: items to draw (`drawing`), poses over time (`motion`), one page that shows
them (`page`), pictures and films (`pictures`). Never here: Taichi, and how rays are cast.

    drawing       a scene as a drawing: items, colours, cameras, of one world
    motion        poses of bodies over time, what space they take, and a camera that sees all of it
    stretch       poses of bodies that are stretched: six numbers more, xx yy zz xy xz yz of S, which is symmetric
    subject       what is to be seen: some worlds of a run, or of a scene that was not run
    page          one page that shows the motion; its program stands beside this, and `bundled` has it in one file
    pictures      pictures and films, drawn here, without a display
    tessellation  triangles of the solids of a drawing, for formats that know nothing else
    glb           GLB: the motion of one world as a binary glTF 2.0 file, a node per body, its shapes below it
"""
