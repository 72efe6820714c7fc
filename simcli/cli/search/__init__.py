"""Commands that look for numbers of a scene, in rounds of one batch each.

In: a scene, what is varied and what is wanted. Out: numbers, a scene. Never here: how they are found (search).

    searching  what the commands solve, fit and optimize share
    solve      `simcli solve`: the number of a scene for which a measure or a small motion has a given value
    fit        `simcli fit`: numbers of a scene by least squares against a measured trajectory
    optimize   `simcli optimize`: the numbers of a scene for which a measure is least or largest
"""
