"""Steps under constraints, of trees and of free bodies: rows and laws, choice of pieces, corrections, reactions.

In reading order: memory, equations, pieces (limits, friction, drives with a limit), laws, corrections, repeat,
stages, report.
"""
