"""Forces of a scene, a file each, named as in spec/forces/.

In: forces of a scene. Out: tables of their numbers, and where they rest. Never here: what they do, which kernels know.

    ends         bodies and points that a force names
    tables       tables of the forces that act on bodies, a row each
    spring       springs between two points
    wrench       wrenches on bodies
    torque       torques on joints
    torsion      torsion springs of joints
    coupling     what acts on combinations of joint coordinates
    drag         drag on bodies
    bushing      springs of six axes between two frames
    cables       stiffnesses of cables, and the rest that the authored configuration is
    bushing_rows rows of cables and bushings, in the links that carry their ends
    rest         where springs and bushings rest, if the scene does not say
"""
