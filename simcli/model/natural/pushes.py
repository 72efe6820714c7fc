"""Wrenches on bodies in natural coordinates, as terms of the forces on the free coordinates.

    a force F at a point p(x):         sum_j F_j dp_j/dx
    a couple T on vectors a_k:         share T x a_k on each, the share 1/2 of three vectors, 1 of one

since the angular velocity is share times the sum of a_k x a_k'. What follows its body has components along the axes of the
link, which are affine forms themselves; of the couple a_m x a_k is the third axis, for the vectors are at right angles.
"""

from typing import NamedTuple

import numpy as np

from simcli.model.affine.forms import Affine, Forms
from simcli.model.tables import Array
from simcli.model.tree.link_frames import link_points


class Push(NamedTuple):
    """A term of the force on one coordinate: weight times a component of a wrench times an affine form.

    Attributes:
        at: the coordinate.
        form: coordinate or form, -1 for the constant 1.
        component: of all wrenches, 6 each: force, torque.
        weight: (W|1,).
    """

    at: int
    form: int
    component: int
    weight: Array


def pushes_of(forms: Forms) -> list[Push] | None:
    """All terms of the wrenches of a model; None if the point or an axis that one needs is no affine form."""
    model, found = forms.model, []
    wrenches = model.wrenches
    places = link_points(model, wrenches.body, wrenches.point)
    for k, body in enumerate(wrenches.body.tolist()):
        link = int(model.links.tip[body])
        point, axes = forms.point(link, places[:, k]), forms.axes(link)
        if point is None or (wrenches.follows[k] and any(axis is None for axis in axes)):
            return None
        along = axes if wrenches.follows[k] else _world()
        for m in range(3):
            for j in range(3):
                for at, weight in point[j].coef.items():
                    found += _push(forms, at, along[m][j], 6 * k + m, weight)
        couple = _couple_that_follows if wrenches.follows[k] else _couple
        found += couple(forms, link, axes, 6 * k + 3)
    return found


def _world() -> list[list[Affine]]:
    return [[Affine(np.full(1, float(j == m))) for j in range(3)] for m in range(3)]


def _push(forms: Forms, at: int, form: Affine, component: int, weight: Array) -> list[Push]:
    """The term of a form, if it is not zero."""
    if form.coef:
        return [Push(at, forms.of(form), component, weight)]
    return [Push(at, -1, component, weight * form.constant)] if np.any(form.constant) else []


def _couple(forms: Forms, link: int, axes: list, first: int) -> list[Push]:
    """A couple with components in the world."""
    count, found = int(forms.model.columns.n_vectors[link]), []
    share = np.full(1, 0.5 if count == 3 else 1.0)
    for k in range(count):
        for j in range(3):
            for at in forms.number(link, 1 + k, j).coef:
                found += _push(forms, at, axes[k][(j + 2) % 3], first + (j + 1) % 3, share)
                found += _push(forms, at, axes[k][(j + 1) % 3], first + (j + 2) % 3, -share)
    return found


def _couple_that_follows(forms: Forms, link: int, axes: list, first: int) -> list[Push]:
    """A couple with components along the axes of its link."""
    count, found = int(forms.model.columns.n_vectors[link]), []
    share = np.full(1, 0.5 if count == 3 else 1.0)
    for k in range(count):
        for j in range(3):
            for at in forms.number(link, 1 + k, j).coef:
                found += _push(forms, at, axes[(k + 1) % 3][j], first + (k + 2) % 3, share)
                if count == 3:
                    found += _push(forms, at, axes[(k + 2) % 3][j], first + (k + 1) % 3, -share)
    return found
