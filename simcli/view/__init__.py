"""What is seen of a mechanism and of its motion: pages, pictures and films, made without a display.

In: a trajectory, or a scene that was not run. Out: drawings, their poses over time, GLB, images, a page. Never here: what a
number means, what a step is.

Folders, bottom to top: drawing, the files beside them, page.
"""
