"""Frames of bodies in natural coordinates, in pairs that bushings, cables and drags act between.

Of each pair the gap p_b - p_a and the axes F_a and F_b, a matrix with the axes as columns, row by row: 21 numbers that are
affine forms of the free coordinates, k + B x. Their rates are B x', and what acts on them acts on the coordinates by B^T.
The first frame of a drag is the world, and so are its axes in a body that its turning does not drag.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from simcli.model.affine.forms import AffineForm, Forms, Vector, constant_vector
from simcli.model.forces.bushing_rows import bushing_rows
from simcli.model.tables import WORLD, Array, Model
from simcli.model.tree.link_frames import link_points, links_of

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
    points, links = link_points(model, drags.body, drags.point), links_of(model, drags.body)
    for k, link in enumerate(links.tolist()):
        yield FramePair(WORLD, link, np.zeros((1, 3)), points[:, k], upright, upright, is_turning(model, k))


def is_turning(model: Model, k: int) -> bool:
    """Whether drag k acts on the turning of its body, in some world."""
    return bool(np.any(model.drags.angular_damping[:, k]) or np.any(model.drags.angular_quadratic[:, k]))


def forms_of(forms: Forms, pair: FramePair) -> list[AffineForm] | None:
    """The numbers of a pair; None if one of them is no affine form."""
    x_a, x_b = forms.point(pair.link_a, pair.point_a, True), forms.point(pair.link_b, pair.point_b, True)
    axes = [_axes(forms, link if pair.turns else WORLD, frame)
            for link, frame in ((pair.link_a, pair.frame_a), (pair.link_b, pair.frame_b))]  # fmt: skip
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
        "site_start": np.cumsum([0, *map(len, sites)]), "site": np.array([i for own in sites for i in own], int),
        "share_start": np.cumsum([0, *map(len, shares)]),
        "share_number": np.array([n for own in shares for n, _ in own], int),
        "share_coef": stacked_columns([b for own in shares for _, b in own]), "frame_constant": stacked_columns(constants),
    }  # fmt: skip


def stacked_columns(columns: list[Array]) -> Array:
    """Columns (W|1,) of n items as one, (W|1, n)."""
    worlds = max((len(column) for column in columns), default=1)
    columns = [np.broadcast_to(column, worlds) for column in columns]
    return np.stack(columns, axis=1) if columns else np.zeros((1, 0))
