"""Commands that look for numbers of a scene, in rounds of one batch each.

In: a scene, what is varied and what is wanted. Out: numbers, a scene. Never here: how they are found (search).
"""
