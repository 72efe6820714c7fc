"""The one problem of a step in which something can touch: joints, laws and contacts together, solved for impulses.

In: the core of a run. Out: velocities and impulses of a step. Never found here: the solution (kernels/complementarity).

    memory       the problem and what it needs
    contacts     contacts of a step, and their warm starts
    contact_rhs  right-hand side of the contact problem: what contacts are to reach
    rows         what joints, laws, motions and contacts state
    law_rows     what laws of coordinates state among them
    spins        rolling and torsional friction
    balls        bounds of the drives of ball joints
    mass         mass matrix and momentum, with the linear parts of laws
    direction    forces of joints along the directions where a step ends
    stages       stages that find contacts and solve the problem
    self_stress  what redundant rows carry without moving anything
    answer       what a step takes of the solution
    programs     the lists of these stages
"""
