"""Models of other formats as scenes, and scenes as such models, with a report of every loss.

In: files of URDF, MJCF, SDF and USD. Out: the text of a scene, the meshes that stand beside it, and a report with a line for
each element of the source. Never here: tables of numbers, solvers, what a scene means.

Folders, bottom to top: source; urdf, mjcf, sdf, usd; writing. The files beside them use all of these.
"""
