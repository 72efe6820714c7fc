"""What is seen of a mechanism and of its motion.

In: a scene and its model, or a run. Out: items to draw (`drawing`), poses over time (`motion`), and one page that shows
them (`page`). Never here: Taichi, and how pictures are computed.

Modules in reading order: palette, parts, tables, solids, glyphs, joints, drawing, motion, subject, curves, quantised,
content, document, live, live_process; the program of the page is in the folder page.
"""
