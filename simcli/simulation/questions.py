"""Questions about where the worlds of a simulation stand: contacts, clearances, and what rays meet."""

from dataclasses import dataclass

import numpy as np

from simcli.analysis.mechanics.contact_tasks import ContactsAt, Rays, ray_set
from simcli.analysis.mechanics.rounds import Mechanics
from simcli.analysis.mechanics.tasks import Task
from simcli.analysis.states.portions import States
from simcli.analysis.states.subject import of_one_world
from simcli.arguments import number_given, text_given
from simcli.errors import UsageError
from simcli.model.tables.model import Array, Model
from simcli.simulation.open_worlds import OpenWorlds
from simcli.simulation.starts import on_host_of

_POSES = "frames/body_q"


@dataclass(frozen=True)
class ContactsFound:
    """Contacts or near pairs of worlds, as `Simulation.contacts` gives them: n of them, by world.

    Attributes:
        world: (n,).
        shape_a, shape_b: (n,), their names.
        gap: [m], (n,), negative in overlap.
        point: [m], (n, 3), half way between the surfaces, world.
        normal: [1], (n, 3), from a to b, world.
        surface_a, surface_b: [m], (n, 3), on the surfaces, world.
    """

    world: Array
    shape_a: Array
    shape_b: Array
    gap: Array
    point: Array
    normal: Array
    surface_a: Array
    surface_b: Array


@dataclass(frozen=True)
class RaysFound:
    """What n rays meet in W worlds, as `Simulation.rays` gives it.

    Attributes:
        distance: [m], (W, n), along the ray; NaN where it meets nothing.
        shape: (W, n), names of shapes, "" for none.
        point: [m], (W, n, 3), world.
        normal: [1], (W, n, 3), outward of the shape, world.
    """

    distance: Array
    shape: Array
    point: Array
    normal: Array


def _named_contacts(model: Model, found: dict[str, Array], world: Array) -> ContactsFound:
    """What `ContactsAt` finds, with names of shapes."""
    names = _names_of(model)
    rest = {name: found[f"contact_{name}"] for name in ("gap", "point", "normal", "surface_a", "surface_b")}
    return ContactsFound(world, names[found["contact_shape_a"]], names[found["contact_shape_b"]], **rest)


def _named_hits(model: Model, found: dict[str, Array]) -> RaysFound:
    """What `Rays` finds, with names of shapes."""
    shape = _names_of(model)[found["ray_shape"]]
    return RaysFound(found["ray_distance"], shape, found["ray_point"], found["ray_normal"])


def _names_of(model: Model) -> Array:
    """Of shapes; "" stands last, for none."""
    return np.array((*model.shapes.name, ""), object)


def _threes(what: str, value: object) -> Array:
    """Places or directions, (n, 3).

    Raises:
        UsageError: they are something else.
    """
    try:
        found = np.array(on_host_of(what, value))
        found = found.astype(float) if found.dtype.kind in "iuf" else np.zeros(0)
    except (ValueError, TypeError, OverflowError):
        found = np.zeros(0)
    if found.ndim not in (1, 2) or found.shape[-1] != 3 or not len(found):
        raise UsageError(f"{what}: are three numbers, or rows of them")
    return np.atleast_2d(found)


class Questions(OpenWorlds):
    """What a program asks of where the worlds stand; nothing moves."""

    def contacts(self, clearance: float | None = None, tolerance: float = 1e-6) -> ContactsFound:
        """Contacts of all worlds, as `simcli contacts` gives them (page `mechanics`), with the parameters of now.

        Args:
            clearance: [m], give all pairs of shapes that are nearer instead, by where they are nearest.
            tolerance: [m], gap up to which surfaces touch.

        Raises:
            UsageError: a distance is negative, the bodies yield, or the simulation is in single precision.
        """
        reach = None if clearance is None else number_given("contacts: clearance", clearance)
        if min(reach or 0.0, number_given("contacts: tolerance", tolerance)) < 0.0:
            raise UsageError("contacts: clearance and tolerance are from 0 on")
        task = ContactsAt(reach, float(tolerance))
        try:
            model, found, world = self._answer("contacts", task)
        finally:
            task.close()
        return _named_contacts(model, found, world)

    def rays(self, origins: object, directions: object, body: str = "", reach: float | None = None) -> RaysFound:
        """What rays meet in all worlds, as `simcli rays` gives it (page `mechanics`), with the parameters of now.

        Args:
            origins: [m], (n, 3) or (3,), in the frame of the body.
            directions: [1], likewise, of any length.
            body: whose frame these are in, and whose shapes are not seen; "" for the world.
            reach: [m], farther surfaces are not seen; None for all.

        Raises:
            UsageError: numbers that do not fit, an unknown body, bodies that yield, or single precision.
        """
        starts, ways = _threes("rays: origins", origins), _threes("rays: directions", directions)
        if len(starts) != len(ways) and 1 not in (len(starts), len(ways)):
            raise UsageError(f"rays: {len(starts)} origins and {len(ways)} directions: as many, or one of them")
        n = max(len(starts), len(ways))
        numbers = np.concatenate([np.broadcast_to(one, (n, 3)) for one in (starts, ways)], axis=1)
        most = np.inf if reach is None else number_given("rays: reach", reach)
        names, owner = [str(k) for k in range(len(numbers))], text_given("rays: body", body, "hand")
        rays = ray_set(self._model_now(), names, numbers, [owner] * len(names))
        model, found, _ = self._answer("rays", Rays(rays, most))
        return _named_hits(model, found)

    def _answer(self, what: str, task: Task) -> tuple[Model, dict[str, np.ndarray], np.ndarray]:
        """The model of now, what a task finds, and the world of each of its rows."""
        stepwise = self._ready()
        if self.device.precision != "float64":
            raise UsageError(f"{what}: is found in double precision: open the scene with solver.precision float64")
        columns = stepwise.columns(_POSES)
        if _POSES not in columns or self._job.spec.solver.type == "affine":
            raise UsageError(f"{what}: needs poses of rigid bodies: frames of this scene have none")
        model, n = of_one_world(self._model_now()), self.n_worlds
        world = np.arange(n) if model.n_worlds > 1 else np.zeros(n, int)
        states = States(
            np.full(n, self.time), np.arange(n), np.zeros(n, int), {"body_q": np.array(columns[_POSES][0], float)}
        )
        mechanics = Mechanics(model, self.device, task.algorithms(model))
        try:
            found = task(mechanics, states, world)
        finally:
            mechanics.close()
        return model, found, found.pop("row", world)
