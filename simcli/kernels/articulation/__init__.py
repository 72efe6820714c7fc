"""Articulations: kinematics and dynamics of trees in joint coordinates, and back to these from poses.

In: coordinates, velocities, forces on links. Out: poses, twists, accelerations, joint coordinates. Never here: laws, rows.

    kinematics               forward kinematics: joint coordinates to poses and twists of links
    points                   points of links in the world, and forces that act there
    retraction               the retraction of joint coordinates: the move along rates that keeps rotations what they are
    rnea                     recursive Newton-Euler: forces from accelerations
    crba                     composite rigid bodies: the mass matrix
    aba                      articulated bodies: accelerations from forces
    hinges                   inverse dynamics of trees of hinges, each link in its own axes
    gyroscope                how a body turns in a step of first order: the mean angular velocity
    projection               poses and twists of bodies to joint coordinates
    projected_accelerations  accelerations of bodies to those of joint coordinates
    loops                    coordinates of joints that close loops: projected from the bodies
    contact_columns          what contacts see of the velocities that carry links
    contact_places           where contacts are at other poses: surfaces, normals, gaps
    contacts                 contacts of trees: their frames, and their forces on links
"""
