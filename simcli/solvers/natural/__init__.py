"""Points and vectors as coordinates: a constant mass matrix, rigidity and joints as rows.

In reading order: programs (the lists), memory, stages, excess (bodies that lack inertia), quadratic (stages of steps whose
rows are polynomials), forces, generalized_alpha, alpha_forces, contacts, rotors (armature), led (kinematic bodies).
"""
