"""What is seen of a mechanism and of its motion.

In: a scene and its model, or a run. Out: items to draw (`drawing`), poses over time (`motion`), one page that shows
them (`page`), pictures and films (`render`, `images`). Never here: Taichi, and how rays are cast.

Modules in reading order: palette, parts, tables, solids, glyphs, joints, drawing, motion, subject; of the page: curves,
quantised, content, document, live, live_process, its program in the folder page; of pictures: grounds, stage, moments,
render, images.
"""
