"""Forces on links and coordinates as columns of numbers.

In: poses, twists, signals. Out: forces on links, efforts, work. Never here: bounds (laws), energies of affine bodies
(potentials).

    prescribed  prescribed motions on the device: where a coordinate shall be, its rate and acceleration
    signals     signals on the device: their values with two rates at a time, and the way from there to what they drive
    efforts     joint efforts: applied ones, dampers, torsion springs, soft limits and drives, as forces of a coordinate
    external    external forces on links: of springs between points, cables and wrenches, which know poses and twists only
    bushings    bushings: springs and dampers of six axes between two frames; and cables, which are bushings of joints
    columns     columns of forces: joint efforts (applied, damping, drives), springs between points, cables
    work        the account of work: powers of joint efforts, what springs and soft limits store
"""
