"""Small values on packs, and functions of them, free of branches.

In and out: packs. Never here: memory, bodies.

    elementary    elementary functions on packs, free of branches and of library calls
    values        small values whose components are packs
    philox        random numbers by their place in a sequence
    rotation_log  the rotation vector of a rotation, and how torques pull back through it
    polar         the rotation nearest to a matrix, and the energy of the distance from it (as rigid as possible)
"""
