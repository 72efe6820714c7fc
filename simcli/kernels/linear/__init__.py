"""Linear systems on patterns that all worlds share.

In: patterns found once per scene, numbers of a block of worlds. Out: factors and solutions. Never here: bounds.

    sparse   L D L^T of a symmetric system on a fixed pattern, for a block of worlds at a time
    entries  which entries the constrained system has: mass matrix and rows against the dofs that they see
    system   the constrained system of the tree's coordinates: mass matrix, rows and laws
    blocks   12 x 12 blocks of affine bodies, and their factorisation
    skyline  L D L^T of a symmetric matrix of affine bodies whose pattern changes: a row begins where it does in any lane
"""
