"""Steps under constraints, of trees and of free bodies: rows and laws, choice of pieces, corrections, reactions.

In: the core of a run. Out: accelerations, multipliers, corrections. Never found here: contacts (impulses).

    memory       loops, gears, laws and prescribed motions of a run
    equations    the equations of a try
    active_set   on which piece of its graph each bounded law is
    laws         efforts and powers of laws
    corrections  corrections of positions and velocities
    filters      second solutions of these, without what rows contradict
    repeat       steps that are taken again
    stages       stages of steps that rows and laws constrain
    report       reactions and efforts of a frame
"""
