"""Steps under constraints, of trees and of free bodies: rows and laws, choice of pieces, corrections, reactions.

In: the core of a run. Out: accelerations, multipliers, corrections. Never found here: contacts (impulses).
"""
