"""SDF to a mechanism: models, links, frames, joints, closed loops.

In: the root of an SDF file. Out: a mechanism, and a line of the report for each element. Never here: other
files than meshes and the models that it includes.

    reading   the file as a whole: models within each other and in a world, and what is dropped
    includes  models of other files in the place of what includes them
    source    an SDF file as it is read: numbers, poses, what was looked at
    frames    poses relative to frames, resolved
    links     links: mass, shapes, materials
    surfaces  friction, bounce and masks of what collides
    solids    what the shapes of a link weigh, where the file asks for it
    joints    joints: types, axes, limits, springs, gears
    loops     a joint to a link that another one holds closes a loop
"""
