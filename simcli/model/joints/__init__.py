"""Joints: the catalogue, what a scene says of each, and the spanning tree of links that they make.

In: joints of a scene. Out: their axes, anchors, drives, gears; the order of the tree, its links, its kinematics in numpy.
Never here: constraint rows (constraints), other forms of a model (forms).
"""
