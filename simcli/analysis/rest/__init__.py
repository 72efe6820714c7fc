"""A mechanism at rest, and its small motions.

In: a scene. Out: equilibria, modes, prestress. Never here: time stepping.

    least_distance  the shortest solution of linear equations within lower bounds
    touching        contacts at rest: what they see of displacements, and the forces that Coulomb's law lets them have
    holding         contacts that hold a mechanism: where they are at a posture, and the forces in them
    statics         statics of a mechanism on its constraints: what moves, what is out of balance
    equilibrium     search of the static equilibrium near a state
    leaning         search of the equilibrium of a mechanism whose shapes can touch
    spectrum        eigenvalues of small motions: M y'' + C y' + K y = 0
    modes           small motions of a scene about an equilibrium: what can be linearised, the equilibrium, its modes
    prestress       prestress of nets of springs and cables on rigid parts: states of self-stress, mechanisms
"""
