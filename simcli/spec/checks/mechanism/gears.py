"""Gears (`mimic`): joints that can follow each other, without circles."""

from simcli.spec.checks.checker import Checker
from simcli.spec.names import dofs


def check_gears(check: Checker) -> None:
    """Every gear joins two joints of as many scalar dofs, and no joint follows itself through others."""
    joints = check.spec.joints
    geared = {name: joint.mimic.joint for name, joint in joints.items() if joint.mimic and joint.mimic.joint in joints}
    sound = {name: leader for name, leader in geared.items() if leader != name and _can_turn(check, name, leader)}
    for circle in _circles(sound):
        _refuse(check, circle[0], f"the gears of {', '.join(f'`{name}`' for name in circle)} make a circle",
                "let one of them go without `mimic`")  # fmt: skip


def _refuse(check: Checker, name: str, message: str, hint: str) -> None:
    check.fault("SC464", message, f"joints.{name}.mimic", hint, on_key=True)


def _can_turn(check: Checker, name: str, leader: str) -> bool:
    """Whether two joints can turn together; a fault if not."""
    joints = check.spec.joints
    for one, what in ((name, "follows"), (leader, f"leads `{name}`")):
        kind = joints[one].type
        if kind not in dofs.GEARED:
            _refuse(check, name, f"joint `{one}` {what}, but a `{kind}` joint has no coordinates that a gear could join",
                    f"gears join {', '.join(sorted(dofs.GEARED))}")  # fmt: skip
            return False
    n_own, n_led = (len(joints[one].dof_kinds) for one in (name, leader))
    if n_own != n_led:
        _refuse(check, name, f"joint `{name}` has {n_own} dof(s), `{leader}`, which it follows, has {n_led}",
                "a gear joins joints with the same number of dofs")  # fmt: skip
    return n_own == n_led


def _circles(leader: dict[str, str]) -> list[list[str]]:
    """Circles of followers, each from its first joint in file order."""
    found, seen = [], set()
    for start in leader:
        path = []
        name = start
        while name in leader and name not in seen:
            seen.add(name)
            path.append(name)
            name = leader[name]
        if name in path:
            circle = path[path.index(name) :]
            first = min(circle, key=list(leader).index)
            found.append(circle[circle.index(first) :] + circle[: circle.index(first)])
    return found
