"""What a run shows and probes: frames, the energy balance, contacts, measures, sensors, and what signals see.

In: the core of a run, where a step begins or ends. Out: rows of frames, numbers of measures. Never found here: steps.
"""
