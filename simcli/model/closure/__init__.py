"""The state in which a run begins: loops closed, velocities of least kinetic energy, limits kept. Plain numpy.

Comes in: a model as the scene wrote it. Goes out: the model with the joint coordinates and velocities of t = 0, and what
was done (`tables.Beginning`). All solvers begin there. A world comes out the same alone and in any batch.

    chart      motion axes of the dofs, moves along them, and the mass matrix, in the world
    turned     rotations by which joints are away from what they allow, where products of directions do not tell them
    gaps       residuals of the constraint rows, and their pulls on the two links
    gradients  gradients of the rows along the dofs of the tree
    spans      directions along which rows lie, least squares, signs of determinants
    least      the least motion that satisfies rows
    close      a model ready to be closed, and velocities that keep it closed
    continuation  positions that close the loops, from the drawing to what is written
    limits     coordinates outside their hard limits
    reach      gears and held sums that limits of their joints leave no room
    moves      what closing has moved, in which worlds and why, in words
    begin      all of it, for a model; what is wrong, in words
    postures   what rows lack at coordinates that someone gives
"""
