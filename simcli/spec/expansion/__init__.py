"""From the file as written to the tree that is simulated.

In: a marked tree. Out: the same without defaults, models, instances and expressions. Never here: the schema.

    templates  defaults, models, instances and replicas: from the file as written to the tree that is simulated
    planes     the plane of planar scenes: its axes, and what stands for an axis that is not written
    expand     the tree that is simulated: templates, expressions and units of joints worked out
"""
