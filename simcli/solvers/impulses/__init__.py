"""The one problem of a step in which something can touch: joints, laws and contacts together, solved for impulses.

In reading order: memory, contacts, aims, rows, spins (rolling and torsional friction), mass, direction, stages.
"""
