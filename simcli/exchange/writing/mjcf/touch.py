"""Which geoms touch, where MuJoCo's own rule is another than that of the scene.

By masks MuJoCo lets all geoms touch that layers let touch, but for those of one body, of bodies that do not move, and of a
body and the one that it hangs on. A pair of bodies of which not all may touch that would is an `exclude`; single pairs are
named.
"""

from itertools import combinations

import numpy as np

from simcli.exchange.writing.mjcf.parts import MjcfParts
from simcli.exchange.writing.mjcf.shapes import dimension
from simcli.model.tables.model import WORLD
from simcli.spec.lookup.structure import WORLD_NAME

_KEPT = ("friction", "torsional_friction", "rolling_friction", "margin")  # numbers of `contact.pairs` that MJCF has


def write_touching(parts: MjcfParts) -> None:
    """Excluded pairs of bodies, and pairs of geoms that are named."""
    scene, contacts = parts.scene, parts.scene.model.contacts
    for index, pair in enumerate(scene.spec.contact.exclude):
        scene.report_element("exclude", " ".join(pair), f"contact.exclude[{index}]")
    for index, pair in enumerate(scene.spec.contact.pairs):
        lost = sorted(pair.model_fields_set - {"a", "b", *_KEPT})
        scene.report_element("pair", f"{pair.a} {pair.b}", f"contact.pairs[{index}]",
                   f"without {', '.join(f'`{key}`' for key in lost)}" if lost else "")  # fmt: skip
    if contacts is not None and scene.spec.contact.enabled:
        rows = {}
        for pairs in contacts.partners():
            for a, b, row in zip(*(column.tolist() for column in pairs), strict=True):
                rows[min(a, b), max(a, b)] = row
        _Touching(parts, rows).write()


class _Touching:
    """Pairs of geoms of a scene.

    Args:
        parts: of the file.
        rows: pair of shapes to its row of numbers, of those that may touch.
    """

    def __init__(self, parts: MjcfParts, rows: dict[tuple[int, int], int]):
        self.parts, self.section = parts, parts.sections["contact"]
        self.rows = {pair: row for pair, row in rows.items() if pair[0] in parts.geoms and pair[1] in parts.geoms}
        self.named = self._named()
        self.links = {link.body: link for link in parts.tree.links}
        self.of_body: dict[int, list[int]] = {}
        shapes = parts.scene.model.shapes
        for s in sorted(parts.geoms):
            if shapes.collide[s]:
                self.of_body.setdefault(int(shapes.body[s]), []).append(s)

    def write(self) -> None:
        for one, other in combinations(sorted(self.of_body), 2):
            self._write_bodies(one, other)

    def _named(self) -> set[tuple[int, int]]:
        """Pairs that `contact.pairs` gives numbers."""
        scene, found = self.parts.scene, set()
        shapes = scene.model.shapes
        sides = [{name, WORLD_NAME if b == WORLD else scene.model.bodies.name[b]}
                 for name, b in zip(shapes.name, shapes.body, strict=True)]  # fmt: skip
        for pair in scene.spec.contact.pairs:
            found |= {(a, b) for a, b in self.rows if (pair.a in sides[a] and pair.b in sides[b])
                      or (pair.b in sides[a] and pair.a in sides[b])}  # fmt: skip
        return found

    def _write_bodies(self, one: int, other: int) -> None:
        geoms, name_of = self.parts.geoms, self.parts.scene.name_of
        pairs = [(min(a, b), max(a, b)) for a in self.of_body[one] for b in self.of_body[other]]
        is_apart = self._is_filtered(one, other)
        if not is_apart and any(geoms[a].meets(geoms[b]) and (a, b) not in self.rows for a, b in pairs):
            self.section.add("exclude", body1=name_of(one), body2=name_of(other))
            is_apart = True
        for pair in pairs:
            if pair in self.rows and (is_apart or pair in self.named):
                self._write_pair(pair)

    def _write_pair(self, pair: tuple[int, int]) -> None:
        scene, row = self.parts.scene, self.rows[pair]
        sliding, torsional, rolling, margin = (float(scene.first(scene.model.contacts, key)[row]) for key in _KEPT)
        if np.isnan(margin):  # a pair of MuJoCo has no regard to its geoms
            margin = float(scene.first(scene.model.shapes, "margin")[list(pair)].sum())
        self.section.add("pair", geom1=self.parts.geoms[pair[0]].name, geom2=self.parts.geoms[pair[1]].name,
                         friction=(sliding, sliding, torsional, rolling, rolling), margin=margin or None,
                         **({"condim": 3} | dimension(sliding, torsional, rolling)))  # fmt: skip

    def _is_filtered(self, one: int, other: int) -> bool:
        """Whether MuJoCo leaves two bodies out by itself: welded ones, or one and what it hangs on but for the world."""
        roots = self._root(one), self._root(other)
        return roots[0] == roots[1] or self._above(one) == roots[1] != WORLD or self._above(other) == roots[0] != WORLD

    def _root(self, body: int) -> int:
        """The first of the bodies that are welded to each other, from the world on."""
        while body != WORLD and self.links[body].hold == "fixed":
            body = self.links[body].inner
        return body

    def _above(self, body: int) -> int:
        top = self._root(body)
        floats = top == WORLD or self.links[top].hold in ("free", "prescribed")
        return WORLD if floats else self._root(self.links[top].inner)
