"""Frames of bodies in natural coordinates, in pairs that bushings, cables and drags act between; wrenches on bodies.

Of each pair the gap p_b - p_a and the axes F_a and F_b, a matrix with the axes as columns, row by row: 21 numbers that
are affine forms of the free coordinates, k + B x. Their rates are B x', and what acts on them acts on the coordinates by
B^T. The first frame of a drag is the world, and so are its axes in a body that its turning does not drag.

Wrenches are terms of the forces on the free coordinates:

    a force F at a point p(x):         sum_j F_j dp_j/dx
    a couple T on vectors a_k:         share T x a_k on each, the share 1/2 of three vectors, 1 of one

since the angular velocity is share times the sum of a_k x a_k'. What follows its body has components along the axes of
the link, which are affine forms themselves; of the couple a_m x a_k is the third axis, for the vectors are at right
angles.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from simcli.model.forces.bushing import bushing_rows
from simcli.model.forms.polynomials import AffineForm, Forms, Vector, constant_vector
from simcli.model.joints.tree_kinematics import link_points, links_of
from simcli.model.tables.force_tables import Drags
from simcli.model.tables.model import WORLD, Array, Model

NUMBERS = 21  # of a pair: gap, F_a, F_b


class FramePair(NamedTuple):
    """Two frames in links, -1 for the world: places (W|1, 3) and axes (W|1, 3, 3); `turns` where axes count."""

    link_a: int
    link_b: int
    point_a: Array
    point_b: Array
    frame_a: Array
    frame_b: Array
    turns: bool


def pairs_of(model: Model) -> Iterator[FramePair]:
    """The pairs of a model: of cables, of bushings, of drags."""
    rows = bushing_rows(model)
    columns = rows.point_a, rows.point_b, rows.frame_a, rows.frame_b
    for k, (a, b) in enumerate(zip(rows.link_a.tolist(), rows.link_b.tolist(), strict=True)):
        yield FramePair(a, b, *(column[:, k] for column in columns), True)
    drags, upright = model.drags, np.eye(3)[None]
    points, links = link_points(model.links, drags.body, drags.point), links_of(model.links, drags.body)
    for k, link in enumerate(links.tolist()):
        yield FramePair(WORLD, link, np.zeros((1, 3)), points[:, k], upright, upright, is_turning(model.drags, k))


def is_turning(drags: Drags, k: int) -> bool:
    """Whether drag k acts on the turning of its body, in some world."""
    return bool(np.any(drags.angular_damping[:, k]) or np.any(drags.angular_quadratic[:, k]))


def forms_of(forms: Forms, pair: FramePair) -> list[AffineForm] | None:
    """The numbers of a pair; None if one of them is no affine form."""
    x_a, x_b = forms.point(pair.link_a, pair.point_a, True), forms.point(pair.link_b, pair.point_b, True)
    axes = [
        _axes(forms, link if pair.turns else WORLD, frame)
        for link, frame in ((pair.link_a, pair.frame_a), (pair.link_b, pair.frame_b))
    ]
    if x_a is None or x_b is None or None in axes:
        return None
    gap = [b + a.times(-np.ones(1)) for a, b in zip(x_a, x_b, strict=True)]
    return gap + [F[k][i] for F in axes for i in range(3) for k in range(3)]


def _axes(forms: Forms, link: int, frame: Array) -> list[Vector] | None:
    """The columns of a frame in a link."""
    if link == WORLD:
        return [constant_vector(frame[..., k]) for k in range(3)]
    found = [forms.direction(link, frame[..., k], True) for k in range(3)]
    return None if None in found else found


def frame_columns(forms: Forms, pairs: Iterable[FramePair]) -> dict[str, Array] | None:
    """Pairs as flat lists.

    Returns:
        site_start, site: coordinates that each pair depends on. share_start, share_number, share_coef: of each site the
        numbers of its pair that depend on it, and b. frame_constant: (W|1, 21 pairs), k. None if a number is no affine form.
    """
    sites, shares, constants = [], [], []
    for pair in pairs:
        numbers = forms_of(forms, pair)
        if numbers is None:
            return None
        sites.append(sorted(set().union(*(number.coef for number in numbers))))
        shares += [[(n, number.coef[i]) for n, number in enumerate(numbers) if i in number.coef] for i in sites[-1]]
        constants += [number.constant for number in numbers]
    return {
        "site_start": np.cumsum([0, *map(len, sites)]),
        "site": np.array([i for own in sites for i in own], int),
        "share_start": np.cumsum([0, *map(len, shares)]),
        "share_number": np.array([n for own in shares for n, _ in own], int),
        "share_coef": stacked_columns([b for own in shares for _, b in own]),
        "frame_constant": stacked_columns(constants),
    }


def stacked_columns(columns: list[Array]) -> Array:
    """Columns (W|1,) of n items as one, (W|1, n)."""
    worlds = max((len(column) for column in columns), default=1)
    columns = [np.broadcast_to(column, worlds) for column in columns]
    return np.stack(columns, axis=1) if columns else np.zeros((1, 0))


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
    places = link_points(model.links, wrenches.body, wrenches.point)
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


def _world() -> list[list[AffineForm]]:
    return [[AffineForm(np.full(1, float(j == m))) for j in range(3)] for m in range(3)]


def _push(forms: Forms, at: int, form: AffineForm, component: int, weight: Array) -> list[Push]:
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
