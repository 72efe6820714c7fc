"""Forces of a scene.

In: forces of a scene. Out: tables of their numbers, and where they rest. Never here: what they do, which kernels know.
"""
