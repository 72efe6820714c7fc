"""Searches on top of batches: every round of a search is one batch of worlds of one scene.

In: a scene, paths that may vary, and what is wanted of them. Out: numbers for these paths, as `--set` takes them, and how
well they do. Never found here: physics, printing, signals.

    intervals    `forces.spring.stiffness=100..10000`: paths, their ends, linear or log
    batches      a scene at many points as one batch of worlds
    quantities   what a world is judged by: measures, arithmetic of them, small motions
    roots        brackets of a function and their refinement, without any scene
    solving      `simcli solve`
    stencil      a point and its neighbours: the Jacobian out of one batch
    fits         `simcli fit`
    generations  the ledger of an optimization, by generation
    optimizing   `simcli optimize`
"""
