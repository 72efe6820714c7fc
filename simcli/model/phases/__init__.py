"""Where a run begins, and the stretches between its events.

In: a scene and its model. Out: the initial state, and a model for each stretch. Never here: closing of loops (closure).

    start      the initial state: coordinates and velocities of joints, of free bodies, and by pattern
    named      joints whose coordinate an option, a batch or a sweep names
    beginning  as drawn; what was done to begin a run: coordinates that closing moved, and worlds that cannot begin
    jumps      events at which a prescribed position would jump: refused
    crossings  events by condition: what they set, as columns that their latches switch in each world
    stretches  phases of a run: the stretches between events, each a model of its own with the same structure
"""
