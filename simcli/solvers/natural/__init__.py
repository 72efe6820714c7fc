"""Points and vectors as coordinates: a constant mass matrix, rigidity and joints as rows.

In: a Model in its natural form, options. Out: frames. Never found here: the rows themselves (kernels/rows/quadratic.py).

    programs          the lists of stages, one for each integrator
    memory            what steps keep beyond the memory of rows
    stages            stages, whatever acts
    projection        velocities projected on the rows before a step
    last_step         what frames show of the step that ends there
    excess            what weights of flat bodies and thin rods have too much
    quadratic         stages of steps whose rows are polynomials
    saddle            the saddle point of such steps: softness, right-hand sides, solutions
    forces            forces in such steps
    force_memory      what such steps keep of forces
    alpha             steps of generalized_alpha
    frame_forces      bushings, cables and drags in them
    contacts          which steps are of impulses
    rotors            armature
    kinematic_bodies  kinematic bodies
"""
