"""Numbers out of many scenes at once: one array per quantity, with a world axis only where the worlds differ."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from simcli.errors import Fault, SceneError, Where
from simcli.model.tables import Array
from simcli.spec.schema.scene import SceneSpec


@dataclass
class Worlds:
    """The scenes of all worlds, and the faults found while they are read.

    Attributes:
        specs: one per world; they differ in numbers only.
        where: place of a dotted path, or None.
        faults: found so far.
        first: the scene of world 0.
    """

    specs: list[SceneSpec]
    where: Callable[[str], Where | None]
    faults: list[Fault] = field(default_factory=list)

    def __post_init__(self):
        self.first = self.specs[0]

    def fault(self, code: str, path: str, message: str, hint: str = "") -> None:
        """Note a fault.

        Args:
            code: rule code.
            path: dotted path of the value.
            message: what is wrong.
            hint: what to do.
        """
        self.faults.append(Fault(code, message, self.where(path), hint))

    def raise_faults(self) -> None:
        """Raise SceneError if there are faults."""
        if self.faults:
            raise SceneError(self.faults)

    def numbers(self, get: Callable[[SceneSpec], object], shape: tuple[int, ...] = ()) -> Array:
        """One quantity of all worlds.

        Args:
            get: reads it from a scene: a number or nested sequence of numbers, always of the same shape.
            shape: that shape.

        Returns:
            (W, *shape), or (1, *shape) if all worlds agree.
        """
        first = get(self.specs[0])
        if len(self.specs) == 1:
            return np.array(first, dtype=float).reshape(1, *shape)
        rest = [get(spec) for spec in self.specs[1:]]
        if all(value == first for value in rest):
            return np.array([first], dtype=float).reshape(1, *shape)
        return np.array([first, *rest], dtype=float).reshape(-1, *shape)

    def columns(self, get: Callable[[SceneSpec], list], count: int, shape: tuple[int, ...] = ()) -> list[Array]:
        """One quantity of many things in all worlds, each as `numbers` gives it.

        Args:
            get: reads it from a scene: a list with an entry per thing, numbers or nested sequences of one shape.
            count: how many things there are.
            shape: of one entry.

        Returns:
            Of each thing (W, *shape), or (1, *shape) if all worlds agree on it.
        """
        table = self.numbers(get, (count, *shape)).swapaxes(0, 1)
        if table.shape[1] == 1:
            return list(table)
        return [one[:1] if (one == one[:1]).all() else one for one in table]

    def common(self, get: Callable[[SceneSpec], object], path: str) -> object:
        """A value that must not differ between worlds.

        Args:
            get: reads it from a scene.
            path: its dotted path.

        Returns:
            That of world 0; a fault is noted if another world has another one.
        """
        first = get(self.specs[0])
        if any(get(spec) != first for spec in self.specs[1:]):
            hint = "batch.vary changes numbers, not the structure"
            self.fault("SC455", path, f"`{path}` differs between worlds", hint)
        return first

