"""A simulation in this process: a program steps the worlds, sets what it likes, and looks at what it likes.

In: a scene, and what a program asks for. Out: arrays, and files if it asks for them. Never here: how a step is made
(solvers/run/stepwise.py), printing, exits.

    process      which simulations are open in this process, and the device that they share; signals that wait
    quantities   where a quantity stands in a frame
    given        what a program gives for worlds: numbers, and which worlds
    saved        a state that was saved
    controls     targets of drives and values of signals, by name and world
    starts       states to begin from: coordinates, velocities and poses by name
    parameter_columns  where the numbers of a parameter stand, in tables and on the device
    parameters   numbers of a scene that are set while it runs
    recording    frames to a file
    simulation   Simulation: what a program holds
"""

from simcli.simulation.simulation import Simulation

__all__ = ["Simulation"]
