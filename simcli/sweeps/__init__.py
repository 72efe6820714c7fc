"""Sweeps: many batches as one, with a ledger.

Comes in: a scene, or a sweep file over scenes. Goes out: a folder with a ledger, a result file per chunk, and one table.
Never found here: physics, the reading of scenes (spec), printing (cli).
"""
