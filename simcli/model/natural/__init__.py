"""The natural form: bodies as points and vectors, rows as polynomials.

In: a Model. Out: the same in natural coordinates. Never here: steps.

    tables            natural coordinates as tables: those that a solver steps, and those by which bodies are shown
    constructors      natural coordinates as a user chooses them: points and vectors of a body
    bases             which points and vectors describe each body of a scene for the natural solver, and their values at
    poses
    form              the natural form of a model: every body by its centre of mass and up to three vectors
    kinematic_bodies  kinematic bodies in natural coordinates: the joints of the scene that prescribe them
    polynomials       rows in natural coordinates as polynomials of second degree
    quadratic         tables of these rows, made once per scene
    frames            pairs of frames that bushings, cables and drags act between, as affine forms
    pushes            wrenches on bodies in natural coordinates, as terms of the forces on the free coordinates
    straight          which joints and forces of a scene no polynomials state
"""
