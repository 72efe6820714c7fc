"""Natural coordinates as written: a kind that fits the scene, as many points and vectors as it has."""

from simcli.spec.checks.checker import Checker
from simcli.spec.schema.body import BodySpec

IN_SPACE = ("1P3V", "2P2V", "3P1V", "4P")
IN_A_PLANE = ("1P2V", "2P1V", "3P")


def check_natural(check: Checker, name: str, body: BodySpec) -> None:
    """Kind and counts of a body's natural coordinates, for the solver that has them."""
    if body.natural is None or check.spec.solver.type != "natural":
        return
    kind, path = body.natural.kind, f"bodies.{name}.natural"
    plane = check.spec.world.plane
    if plane is None and kind in IN_A_PLANE:
        check.fault("SC469", f"`{kind}` describes a body in a plane, but the scene is spatial", path,
                    f"in space a body is {', '.join(IN_SPACE)}")  # fmt: skip
    if plane is not None and kind in IN_SPACE:
        check.fault("SC469", f"`{kind}` describes a body in space, but the scene is planar ({plane})", path,
                    f"in a plane a body is {', '.join(IN_A_PLANE)}")  # fmt: skip
    points, _, vectors = kind.partition("P")
    for key, n in (("points", int(points)), ("vectors", int(vectors[:-1] or 0))):
        given = getattr(body.natural, key)
        if given and len(given) != n:
            check.fault("SC469", f"`{kind}` has {n} {key}, but {len(given)} are given", f"{path}.{key}",
                        f"write {n}, or none of them" if n else "leave them out")  # fmt: skip
    if kind == "1P" and body.natural.compliance:
        check.fault("SC469", "a point has no rigidity that could yield", f"{path}.compliance", "leave it out")
