"""Points and vectors as coordinates: a constant mass matrix, rigidity and joints as rows.

In reading order: steps, phases, quadratic (steps whose rows are polynomials), forces, generalized_alpha, alpha_forces,
contacts, rotors (armature), led (kinematic bodies).
"""
