"""A simulation in this process: a program steps the worlds, sets what it likes, and looks at what it likes.

In: a scene, and what a program asks for. Out: arrays, and files if it asks for them. Never here: how a step is made
(solvers/run/stepwise.py), printing, exits.
"""

from simcli.simulation.simulation import Simulation

__all__ = ["Simulation"]
