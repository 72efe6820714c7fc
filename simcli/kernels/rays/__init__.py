"""Rays against solids: pictures without a display. Never found here: scenes, files, cameras' choice.

    solids     what is drawn, as unit shapes under affine maps; colours, opacity
    hierarchy  boxes about the triangles of a mesh, in the mesh's frame: motion rebuilds nothing
    screens    which solids a tile of the picture, or of the light's view, can meet
    shapes     a ray against each unit shape
    packs      eight rays to the lamp against each unit shape, whether they are blocked
    meshes     a ray against triangles, by way of their boxes
    lit        light, shadow, lines on planes, the colour of a point
    pixels     the kernel
    picture    the host's door to it: `draw`; what is kept of the picture before

All scenes share one kernel: numbers of solids, tiles and triangles are data. Everything is float32 in a frame whose origin
is what the camera looks at and whose unit is the size of the scene.
"""
