"""What touches what in a compiled model, and with which friction: layers, excluded and added pairs, materials.

MuJoCo lets two geoms touch if the mask `contype` of one and `conaffinity` of the other have a bit in common, which is the
rule of layers, but for bodies that are welded together, for a body and the one that it moves in unless that is the world,
and for what `exclude` names. `pair` adds pairs against all of these. Of two geoms the higher `priority` has the say; of
equal ones the larger `condim` and each larger coefficient count.
"""

from typing import NamedTuple

import numpy as np

from simcli.exchange.mjcf.shapes import MjcfShapes
from simcli.exchange.mjcf.source import MjcfSource
from simcli.exchange.source.mechanism import GivenNames, SourceModel, SourceShape
from simcli.spec.lookup.structure import WORLD_NAME
from simcli.spec.schema.shape import DEFAULT_LAYER

_BITS = 32
# (friction, torsional, rolling) that act: those that a contact of so many dimensions has.
_ACTING = {1: (), 3: (0,), 4: (0, 1), 6: (0, 1, 2)}
_KEYS = ("friction", "torsional_friction", "rolling_friction")


class Surface(NamedTuple):
    """What friction a geom brings along.

    Attributes:
        friction: sliding [1], torsional [m], rolling [m].
        condim: dimensions of its contacts.
        priority: of what it says.
    """

    friction: tuple[float, float, float]
    condim: int
    priority: int

    @property
    def numbers(self) -> tuple[float, float, float]:
        """The coefficients that act if it touches its like."""
        return tuple(value if k in _ACTING[self.condim] else 0.0 for k, value in enumerate(self.friction))

    def against(self, other: "Surface") -> tuple[float, float, float]:
        """The coefficients of a contact of two, as MuJoCo has them."""
        if self.priority != other.priority:
            return max(self, other, key=lambda one: one.priority).numbers
        larger = tuple(map(max, self.friction, other.friction))
        return Surface(larger, max(self.condim, other.condim), 0).numbers


def touching_geoms(source: MjcfSource) -> np.ndarray:
    """(ngeom, ngeom) whether MuJoCo lets two geoms touch."""
    model, bits = source.model, source.mujoco.mjtDisableBit
    weld = model.body_weldid[model.geom_bodyid]
    outer = model.body_weldid[model.body_parentid[weld]]
    found = _meet(model.geom_contype, model.geom_conaffinity) & (weld[:, None] != weld[None, :])
    if not model.opt.disableflags & bits.mjDSBL_FILTERPARENT:
        moves = (weld[:, None] != 0) & (weld[None, :] != 0)
        found &= ~(moves & ((weld[:, None] == outer[None, :]) | (weld[None, :] == outer[:, None])))
    for signature in model.exclude_signature:
        one, other = int(signature) >> 16, int(signature) & 0xFFFF
        apart = (model.geom_bodyid == one)[:, None] & (model.geom_bodyid == other)[None, :]
        found &= ~(apart | apart.T)
    for p in range(model.npair):
        one, other = int(model.pair_geom1[p]), int(model.pair_geom2[p])
        found[one, other] = found[other, one] = True
    return found


def colliding_geoms(source: MjcfSource) -> np.ndarray:
    """(ngeom,) whether some other geom, if only of another file, could touch a geom: by its masks, or by a `pair`."""
    model = source.model
    found = (model.geom_contype != 0) | (model.geom_conaffinity != 0)
    found[np.concatenate((model.pair_geom1, model.pair_geom2)).astype(int)] = True
    return found


def _meet(contype: np.ndarray, conaffinity: np.ndarray) -> np.ndarray:
    found = (contype[:, None] & conaffinity[None, :]) != 0
    return found | found.T


class Touching:
    """Contact of a scene as it is made.

    Args:
        shapes: of all links.
        touch: (ngeom, ngeom) whether two geoms touch in the source.
    """

    def __init__(self, shapes: MjcfShapes, touch: np.ndarray):
        self.shapes, self.source, self.model = shapes, shapes.source, shapes.model
        self.mechanism: SourceModel = shapes.bodies.mechanism
        self.geoms = [g for g, shape in shapes.of.items() if shape.collides]
        self.touch = touch[np.ix_(self.geoms, self.geoms)]
        self.owner = {id(shape): link.name for link in self.mechanism.links.values() for shape in link.shapes}

    def write(self) -> None:
        """Give shapes their layers and materials, and the scene what it says of pairs."""
        if not self.geoms:
            return
        meet = self._layers()
        surfaces = self._surfaces()
        pairs = self._joints_and_pairs(meet) + self._numbers_of_pairs(surfaces)
        words = self.mechanism.sections.setdefault("contact", {})
        words |= {"exclude": self.exclude} if self.exclude else {}
        words |= {"pairs": pairs} if pairs else {}
        if not words:
            del self.mechanism.sections["contact"]

    def _shape(self, k: int) -> SourceShape:
        return self.shapes.of[self.geoms[k]]

    def _name(self, k: int) -> str:
        shape = self._shape(k)
        body = self.owner[id(shape)]
        return shape.name if body == WORLD_NAME else f"{body}/{shape.name}"

    # Layers.

    def _layers(self) -> np.ndarray:
        """Name the layers of shapes; whether these let two touch."""
        is_of = (self.model.geom_contype[self.geoms][:, None] >> np.arange(_BITS)) & 1 == 1
        meets = (self.model.geom_conaffinity[self.geoms][:, None] >> np.arange(_BITS)) & 1 == 1
        names = [DEFAULT_LAYER, *(f"layer_{k}" for k in range(1, _BITS))]
        extra = [
            (self.geoms.index(int(one)), self.geoms.index(int(other)))
            for one, other in zip(self.model.pair_geom1, self.model.pair_geom2, strict=True)
            if int(one) in self.geoms and int(other) in self.geoms
        ]
        meet = is_of.astype(int) @ meets.T.astype(int) > 0
        extra = [(one, other) for one, other in extra if not (meet[one, other] or meet[other, one])]
        alone = np.zeros((2, len(self.geoms), len(extra)), bool)
        for k, pair in enumerate(extra):
            alone[0, pair[0], k] = alone[1, pair[1], k] = True
        is_of, meets = np.hstack((is_of, alone[0])), np.hstack((meets, alone[1]))
        names += [f"pair_{k + 1}" for k in range(len(extra))]
        known = is_of.any(axis=0)  # layers that some shape is in: others cannot be named
        known[0] = True
        words = [
            {
                key: [names[b] for b in np.flatnonzero(bits[k] & known)]
                for key, bits in (("layers", is_of), ("touches", meets))
            }
            for k in range(len(self.geoms))
        ]
        trivial = {"layers": [DEFAULT_LAYER], "touches": [DEFAULT_LAYER]}
        self._spread(words, trivial)
        meet = is_of.astype(int) @ meets.T.astype(int) > 0
        return meet | meet.T

    def _spread(self, words: list[dict], trivial: dict) -> None:
        """Write with each shape what is not said by nothing."""
        for k, own in enumerate(words):
            self._shape(k).words |= {key: value for key, value in own.items() if value != trivial.get(key)}

    # Friction.

    def _surfaces(self) -> list[Surface]:
        """Give shapes their materials; the surface of each."""
        model, names = self.model, GivenNames(())
        found = [
            Surface(tuple(map(float, model.geom_friction[g])), int(model.geom_condim[g]), int(model.geom_priority[g]))
            for g in self.geoms
        ]
        called: dict[Surface, str] = {}
        materials = {}
        for g, surface in zip(self.geoms, found, strict=True):
            if surface not in called:
                element = self.source.element("geom", g)
                called[surface] = names.give("", element.get("class") or "surface")
                numbers = zip(_KEYS, self._numbers_of(surface, found), strict=True)
                materials[called[surface]] = (
                    {"friction": 0.0} | {key: value for key, value in numbers if value} | {"combine": {"friction": "max"}}
                )
        self.mechanism.sections["materials"] = materials
        self._spread([{"material": called[surface]} for surface in found], {})
        return found

    def _numbers_of(self, surface: Surface, found: list[Surface]) -> tuple[float, ...]:
        """Coefficients of a material that, combined by the larger, agree with those of most shapes that it touches."""
        partners = {found[k] for k in np.flatnonzero(self.touch[[one == surface for one in found]].any(axis=0))} or {surface}
        candidates = [surface.numbers, surface.friction]
        return min(
            candidates,
            key=lambda numbers: sum(tuple(map(max, numbers, one.numbers)) != surface.against(one) for one in partners),
        )

    def _numbers_of_pairs(self, surfaces: list[Surface]) -> list[dict]:
        """Pairs whose coefficients are not those that their materials combine to, and those of `pair`."""
        materials = self.mechanism.sections["materials"]
        made = [materials[self._shape(k).words["material"]] for k in range(len(self.geoms))]
        has = [tuple(words.get(key, 0.0) for key in _KEYS) for words in made]
        entries = []
        for i, j in zip(*np.nonzero(np.triu(self.touch)), strict=True):
            wanted = surfaces[i].against(surfaces[j])
            if wanted != tuple(map(max, has[i], has[j])):
                entries.append((self._name(i), self._name(j), wanted, {}))
        for p in range(self.model.npair):
            ends = [int(self.model.pair_geom1[p]), int(self.model.pair_geom2[p])]
            if all(end in self.geoms for end in ends):
                one, other = map(self.geoms.index, ends)
                slide, _, spin, roll, _ = map(float, self.model.pair_friction[p])
                wanted = Surface((slide, spin, roll), int(self.model.pair_dim[p]), 0).numbers
                entries.append((self._name(one), self._name(other), wanted, self._margin_of_pair(p, one, other)))
        return [{"a": a, "b": b} | dict(zip(_KEYS, wanted, strict=True)) | margin for a, b, wanted, margin in entries]

    def _margin_of_pair(self, p: int, one: int, other: int) -> dict:
        """What `pair` number p says of the margin of two shapes, where that is not the sum of theirs."""
        margin = float(self.model.pair_margin[p])
        if margin < 0.0:
            self.shapes.bodies.note("pair", p, "has the margin 0: those of scenes are not negative")
        own = sum(self._shape(k).words.get("margin", 0.0) for k in (one, other))
        return {"margin": max(margin, 0.0)} if max(margin, 0.0) != own else {}

    # Filters.

    def _joints_and_pairs(self, meet: np.ndarray) -> list[dict]:
        """Exclude what only the source keeps apart; the pairs that only a scene keeps apart."""
        owners = [self.owner[id(self._shape(k))] for k in range(len(self.geoms))]
        parting = self.mechanism.parting()
        self.exclude: list[list[str]] = []
        pairs: list[dict] = []
        bodies = list(dict.fromkeys(owners))
        of = {name: np.array([k for k, owner in enumerate(owners) if owner == name]) for name in bodies}
        for n, one in enumerate(bodies):
            for other in bodies[:n]:
                a, b = of[other], of[one]
                want = self.touch[np.ix_(a, b)]
                can = meet[np.ix_(a, b)] & (not parting.never(one, other))
                is_parted = parting.parts(one, other)
                wanted, rest = want & can, can & ~want
                if is_parted and wanted.any():
                    pairs += [{"a": x, "b": y} for x, y in self._named(other, one, a, b, wanted, whole=not rest.any())]
                elif not is_parted and rest.any():
                    self.exclude += [list(names) for names in self._named(other, one, a, b, rest, whole=not wanted.any())]
        return pairs

    def _named(self, one: str, other: str, a, b, which: np.ndarray, whole: bool) -> list[tuple[str, str]]:
        """Two bodies by their names, or pairs of their shapes."""
        if whole:
            return [(one, other)]
        return [(self._name(a[i]), self._name(b[j])) for i, j in zip(*np.nonzero(which), strict=True)]
