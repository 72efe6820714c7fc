"""Searches on top of batches: every round of a search is one batch of worlds of one scene.

In: a scene, paths that may vary, and what is wanted of them. Out: numbers for these paths, as `--set` takes them, and how
well they do. Never found here: physics, printing, signals.
"""
