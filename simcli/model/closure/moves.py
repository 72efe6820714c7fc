"""What closing the loops has moved, joint by joint: how far, in which worlds, and why; and in words."""

import numpy as np

from simcli.model.closure.close import LoopProblem
from simcli.model.closure.continuation.assembly import Assembled, Why
from simcli.model.phases.beginning import Fork, Move
from simcli.model.tables import Array, Model

_MOVED = 1e-9  # [m, rad, 1] changes of a coordinate that are told
_MOST_NAMES = 3  # in one line
FORK_HINT = "write another coordinate of the loop, roughly: those beyond its degrees of freedom choose the branch"


def moves_of(problem: LoopProblem, before: Array, done: Assembled) -> list[Move]:
    """Every world in which a joint's written coordinate moved; of joints of which nothing is written the farthest.

    Args:
        problem: at the coordinates that close it.
        before: [m, rad, 1], (lead, NQ), coordinates as written.
        done: how they were found.
    """
    model, found = problem.model, []
    change = np.abs(problem.q - before)
    for j in np.flatnonzero(model.joints.is_tree):
        own, rates = (slice(start[j], start[j + 1]) for start in (model.joints.q_start, model.joints.qd_start))
        far, written = change[:, own].max(axis=1, initial=0.0), _written(model, own, rates)
        if far.max(initial=0.0) <= _MOVED:
            continue
        g = int(done.closer.group_of_dof[rates].max(initial=-1))
        why = done.why[:, g] if g >= 0 else np.zeros(problem.lead, int)
        told = (change[:, own][:, written].max(axis=1, initial=0.0) > _MOVED) | (_limited(problem, j) & (why == Why.LIMITED))
        worlds = np.flatnonzero(told) if told.any() else [int(far.argmax())]
        count = int(told.sum() if told.any() else (far > _MOVED).sum()) * (model.n_worlds // problem.lead)
        for world in worlds:
            ends = (tuple(q[world, own].tolist()) for q in (before, problem.q))
            reason = _reason(problem, done, int(j), int(world)) if told.any() else ("which closes its loops", "")
            found.append(Move(int(j), int(world), float(far[world]), *ends, bool(told.any()), count, *reason))
    return found


def forks_of(problem: LoopProblem, done: Assembled) -> list[Fork]:
    """Worlds and loops in which branches meet at the drawing and nothing chose between them.

    Args:
        problem: at the coordinates that close it.
        done: how they were found.
    """
    model, found = problem.model, []
    for g, (rows, dofs) in enumerate(done.closer.groups):
        worlds = np.flatnonzero(done.forks[:, g])
        if not len(worlds):
            continue
        closing = int(problem.constraints.rows.joint[rows[0]])
        held = [int(model.dofs.joint[d]) for d in dofs if done.held[worlds, d].any() and model.dofs.q_given[d]]
        names = ", ".join(f"`{model.joints.name[j]}`" for j in dict.fromkeys(held))
        count = len(worlds) * (model.n_worlds // problem.lead)
        for world in worlds.tolist():
            text = (f"two or more branches of the loop of joint `{model.joints.name[closing]}` meet at its authored poses, "
                    f"and {names} alone does not choose between them: one was taken")  # fmt: skip
            found.append(Fork(closing, world, count, text + _where(model, world, count)))
    return found


def _where(model: Model, world: int, count: int) -> str:
    return f" (world {world}, one of {count})" if model.n_worlds > 1 else ""


def _written(model: Model, own: slice, rates: slice) -> Array:
    """(n_q,) bool, which coordinates of a joint are written; of a quaternion all or none."""
    given, n = model.dofs.q_given[rates], own.stop - own.start
    return given if len(given) == n else np.full(n, given.any())


def _limited(problem: LoopProblem, joint: int) -> bool:
    from_laws = problem.constraints.laws
    dofs = from_laws.dof[np.isfinite(from_laws.lower).any(axis=0) | np.isfinite(from_laws.upper).any(axis=0)]
    return bool((problem.model.dofs.joint[dofs[dofs >= 0]] == joint).any())


def _reason(problem: LoopProblem, done: Assembled, joint: int, world: int) -> tuple[str, str]:
    """Why a written coordinate moved, as the end of a sentence, and what to do."""
    model, group = problem.model, done.closer.group_of_dof[problem.model.joints.qd_start[joint]]
    why = done.why[world, group]
    if why == Why.LIMITED:
        return ("because a limit excludes the branch of its authored poses",
                "author the other branch, or write a coordinate that chooses it")  # fmt: skip
    if why == Why.OUT_OF_REACH:
        return ("because no path was found on which its loop closes with the written values",
                "write a value that the loop reaches; from the authored poses it reaches the start of this run")  # fmt: skip
    held = np.flatnonzero(done.held[world] & (done.closer.group_of_dof == group) & model.dofs.q_given)
    names = list(dict.fromkeys(f"`{model.joints.name[model.dofs.joint[d]]}`" for d in held))
    if not names:
        return "because its loop leaves it no degree of freedom", "leave it out"
    shown = ", ".join(names[:_MOST_NAMES]) + (f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else "")
    return (f"because its loop has no degree of freedom beside {shown}, which {'is' if len(names) == 1 else 'are'} held",
            "write the coordinates of fewer joints of the loop, as many as it has degrees of freedom")  # fmt: skip


def move_text(model: Model, move: Move) -> str:
    """A move in words: from what to what, why, and where in a batch."""
    text = f"joint `{model.joints.name[move.joint]}` does not start where the scene says: {change_text(model, move)}"
    text += f", {move.reason}"
    if model.n_worlds == 1:
        return text
    if move.n_worlds == model.n_worlds:
        return text + (f" (world {move.world}; all {move.n_worlds} moved)")
    which = "one" if move.is_written else "the farthest"
    return text + f" (world {move.world}, {which} of {move.n_worlds} that moved)"


def change_text(model: Model, move: Move) -> str:
    """From what to what a joint moved, with the unit where its coordinates have one."""
    dims = model.joints.dof_dim[move.joint].tolist()
    mixed = all(dims) or len(move.before) != sum(dims)  # lengths and angles, or a quaternion
    unit = "" if mixed else " m" if dims[0] else " rad"
    return f"from {_numbers(move.before)} to {_numbers(move.after)}{unit}"


def _numbers(values: tuple[float, ...]) -> str:
    words = [f"{value:.6g}" for value in values]
    return words[0] if len(words) == 1 else "[" + ", ".join(words) + "]"
