"""Signals: numbers that change during a run.

In: mappings. Out: frozen pydantic models, and what their formulas name. Never here: what they drive (names/signal_uses.py).

    functions  signals that are functions of time
    laws       laws of signals that follow what the bodies do: expressions, PID controllers, lags
    signal     a signal: one of its kinds, and how feedback is sampled
    order      what the formulas of signals name, and the order in which signals are found
"""
