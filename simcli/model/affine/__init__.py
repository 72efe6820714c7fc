"""What the affine solver reads: energies of bodies and joints.

In: a Model. Out: its table of stiffness, forms and rows of energies. Never here: barriers, steps.

    table         table of what the affine solver reads besides: see affine/solver.py
    stiffness     what the affine solver reads of a scene: stiffness of bodies and joints, and driving joints
    switched_off  joints that are off, in the form of the affine solver: none of their laws acts
    forms         points and directions of bodies in natural coordinates: affine forms of the free coordinates
    rows          energies of affine bodies: polynomials of second degree of the bodies' coordinates
"""
