"""Articulations: kinematics and dynamics of trees in joint coordinates, and back to these from poses.

In: coordinates, velocities, forces on links. Out: poses, twists, accelerations, joint coordinates, what a frame shows of
them, and contacts as trees see them. Never here: laws, rows.
"""
