"""Constraint rows: residuals, rates, and what their multipliers give links (J^T lambda).

In: poses and twists of links, or natural coordinates. Out: rows. Never here: their solution (linear, complementarity).

    forms               what rows of each form measure, in the world: the gap between two points, the turning of two links
    powers              polynomials of one coordinate, of any degree
    successive          successive turns of a joint outside the tree, as functions of the poses of its two links
    tree_rows           constraint rows between links of trees: residuals, rates, biases
    jacobian_transpose  what the forces of rows give: to links, and as wrenches of joints
    frames              pairs of frames in natural coordinates, and the stiffness of what acts between them
    quadratic           rows in natural coordinates from their polynomials (model/forms/quadratic_rows.py)
    saddle              the saddle point of mass and these rows
"""
