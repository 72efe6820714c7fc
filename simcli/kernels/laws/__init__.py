"""Laws of single coordinates: force, stiffness, damping, energy, bounds.

In: a coordinate and its rate. Out: what acts on it. Never here: how the coordinate moves bodies.

    coordinate  what acts on one coordinate, law by law: its force now
    pieces      pieces of the graph of a law: which one an aim is on, where it ends, and its line
    bounded     limits, dry friction, effort and velocity limits
"""
