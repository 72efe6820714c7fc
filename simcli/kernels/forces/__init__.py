"""Forces on links and coordinates as columns of numbers.

In: poses, twists, signals. Out: forces on links, efforts, work. Never here: bounds (laws), energies of affine bodies
(potentials).

    prescribed_target     prescribed motions on the device: where a coordinate shall be, its rates
    feedback              laws of signals that follow the motion, on the device: an interpreter of three-address code
    signals               signals on the device: their values with two rates at a time, and what they drive
    efforts               joint efforts: applied, dampers, torsion springs, soft limits, drives, by coordinate
    external              forces on links: what all of these have in common
    springs               springs and dampers between two points; slack ones are ropes
    bushings              bushings: springs and dampers of six axes between two frames; cables are bushings of joints
    joint_wrenches        applied efforts on joints whose coordinates are a pose, where no tree moves along them
    drags                 drag on points of bodies, and on their turning
    wrenches              wrenches: forces at points of bodies, and torques
    gravity_compensation  forces against gravity, as long as bodies ask for them
    columns               columns of forces: joint efforts (applied, damping, drives), and forces on links
    account               work that forces have done since the start, and the powers of an instant
    work                  the account of work: powers of joint efforts, what springs and soft limits store
"""
