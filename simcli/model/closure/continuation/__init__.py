"""Continuation from the drawing to what is written: the coordinates at which loops are closed. Plain numpy.

In: a problem at the coordinates that are written. Out: those that close it, what was held, and why the rest was not. Worlds,
and groups of loops that have no dof in common, do not know of each other.

    newton    damped steps that close gaps, for all worlds and groups at once
    held      which of the written coordinates a loop holds, and which are hints
    drawing   the drawing, closed, and what is held of what is written
    travel    coordinates go to other values in steps, the loops closed at each
    branches  others on which a loop closes: where two meet, where hints ask for one, where limits exclude one
    ways      where the straight way does not close: others, the end without a way, as far as it goes
    assembly  all of it: the drawing, the way from it, and what is done where that does not close
"""
