"""Points and directions of bodies in natural coordinates: affine forms of the free coordinates, numbered once per scene."""

from dataclasses import dataclass, field

import numpy as np

from simcli.model.tables import Array, Model
from simcli.model.tree.unknowns import unknown_of_dof

_ROUNDING = 1e-12  # [1] of a vector across the axis of a bar: it is meant to lie along it


@dataclass
class Affine:
    """k + sum b_i x_i, with arrays (W|1,) for k and b."""

    constant: Array
    coef: dict[int, Array] = field(default_factory=dict)

    def __add__(self, other: "Affine") -> "Affine":
        coef = dict(self.coef)
        for i, b in other.coef.items():
            coef[i] = coef[i] + b if i in coef else b
        return Affine(self.constant + other.constant, coef)

    def times(self, factor: Array) -> "Affine":
        """Multiplied by a constant, (W|1,)."""
        return Affine(self.constant * factor, {i: b * factor for i, b in self.coef.items()})

    @property
    def coordinate(self) -> int:
        """The one coordinate that this is, -1 if it is more than that."""
        (i, b), *rest = [*self.coef.items(), (-1, np.zeros(1))][:2]
        bare = i >= 0 and not (rest and rest[0][0] >= 0) and np.all(b == 1.0) and np.all(self.constant == 0.0)
        return i if bare else -1


Vector = list[Affine]  # three components, world


class Forms:
    """Gives points and directions of a model as affine forms, and numbers the forms."""

    def __init__(self, model: Model):
        self.model, self.unknown = model, unknown_of_dof(model)
        self.n = int(self.unknown.max(initial=-1)) + 1
        self.forms: list[Affine] = []
        self.index: dict[int, int] = {}

    def number(self, link: int, block: int, k: int) -> Affine:
        """Component k of the position (block 0) or of a vector of a link."""
        links = self.model.links
        i = int(self.unknown[links.qd_start[link] + 3 * block + k])
        if i >= 0:
            return Affine(np.zeros(1), {i: np.ones(1)})
        return Affine(self.model.joint_q[:, links.q_start[link] + 3 * block + k])

    def axes(self, link: int) -> list[Vector | None]:
        """The three columns of a link's rotation; None for those that are no combination of its vectors."""
        count, normal = int(self.model.columns.n_vectors[link]), self.model.plane
        vectors: list[Vector | None] = [[self.number(link, 1 + m, k) for k in range(3)] for m in range(count)]
        if count == 3:
            return vectors
        upright = [constant_vector(np.eye(3)[None, k]) for k in range(3)]
        if count == 0:
            return upright
        if normal < 0:
            return [vectors[0], None, None]
        ahead, behind = (normal + 1) % 3, (normal + 2) % 3
        across = constant_vector(np.zeros((1, 3)))  # n x a
        across[ahead], across[behind] = vectors[0][behind].times(-np.ones(1)), vectors[0][ahead]
        return [vectors[0], across, upright[normal]]

    def direction(self, link: int, components: Array, full: bool = False) -> Vector | None:
        """A vector fixed in a link, by its components (W|1, 3) along the link's axes; None if it is no affine form.

        Args:
            link: index, -1 for the world.
            components: (W|1, 3).
            full: keep the terms of components that are zero, which another phase may change.
        """
        if link < 0:
            return constant_vector(components)
        total = constant_vector(np.zeros((1, 3)))
        size = _ROUNDING * np.abs(components).max()
        for k, axis in enumerate(self.axes(link)):
            if not full and not np.any(components[:, k]):
                continue
            if axis is None:
                if not np.any(np.abs(components[:, k]) > size):
                    continue
                return None
            total = [one + other.times(components[:, k]) for one, other in zip(total, axis, strict=True)]
        return total

    def point(self, link: int, place: Array, full: bool = False) -> Vector | None:
        """A point of a link, from (W|1, 3) in link axes; None if it is no affine form; `full` as of `direction`."""
        arm = self.direction(link, place, full)
        if link < 0 or arm is None:
            return arm
        return [self.number(link, 0, k) + arm[k] for k in range(3)]

    def of(self, one: Affine) -> int:
        """Index of a form; the same object has the same index."""
        if one.coordinate >= 0:
            return one.coordinate
        if id(one) not in self.index:
            self.index[id(one)] = self.n + len(self.forms)
            self.forms.append(one)  # which also keeps the object alive, and its id with it
        return self.index[id(one)]


def constant_vector(v: Array) -> Vector:
    """A vector (W|1, 3) that does not move."""
    return [Affine(np.asarray(v[:, k], float)) for k in range(3)]
