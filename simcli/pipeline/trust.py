"""Worlds that came to their end, but are not to be trusted: too many steps unsolved, or energy from nothing.

What a scene makes of it stands in `run.on_unsolved` and `run.on_drift`. The events stand in the file, so that tables and
searches know it of the file alone.
"""

from typing import TYPE_CHECKING

import numpy as np

from simcli.job import Job, Outcome
from simcli.model.snapshot import UNTRUSTED, Event

if TYPE_CHECKING:
    from simcli.analysis.drift import EnergyAccount

_COUNT = "SC662"  # code of the event that counts the unsolved steps of a world
_UNSOLVED, _GAINED = UNTRUSTED


def distrust(job: Job, outcome: Outcome, events: list[Event], account: "EnergyAccount") -> list[Event]:
    """The events of the worlds that are not to be trusted.

    Args:
        job: that has come to its last step.
        outcome: with the worlds that ended before.
        events: of the last block, with the numbers of unsolved steps.
        account: of the energies of all frames.
    """
    failed = {one.world for one in outcome.failures}
    failed |= {job.numbers[event.world] for event in events if event.severity > 1 and event.world >= 0}
    found = [*_unsolved(job, outcome, events), *_drifting(job, account)]
    n_steps = outcome.n_steps
    return [Event(n_steps, n_steps * job.schedule.dt, world, code, 1, -1, -1, value, text)
            for world, code, value, text in found if job.numbers[world] not in failed]  # fmt: skip


def _unsolved(job: Job, outcome: Outcome, events: list[Event]) -> list[tuple[int, str, float, str]]:
    """Worlds of which too many steps are unsolved, with the share of them."""
    wanted, found = job.spec.run.on_unsolved, []
    for event in events:
        if event.code != _COUNT or wanted.action == "warn":
            continue
        steps = outcome.ends.get(event.world, outcome.n_steps)
        share = event.value / max(steps, 1)
        if wanted.action == "fail" or share >= wanted.share:
            text = f"{event.value:.0f} of {steps} steps did not converge: the motion cannot be trusted"
            found.append((event.world, _UNSOLVED, share, text))
    return found


def _drifting(job: Job, account: "EnergyAccount") -> list[tuple[int, str, float, str]]:
    """Worlds whose energy does not add up, with the drift in relation to the energy exchanged."""
    wanted = job.spec.run.on_drift
    is_judged = wanted.action == "fail" or (wanted.action == "auto" and job.spec.solver.type != "affine")
    if "energy" not in job.channels or not is_judged:
        return []
    drift = account.largest("drift") if wanted.action == "fail" else account.gain
    part, what = account.part(drift), "unaccounted for" if wanted.action == "fail" else "gained without a source"
    worlds = np.flatnonzero((part > wanted.share) & (drift > wanted.above)).tolist()
    return [(w, _GAINED, float(part[w]), f"{drift[w]:.3g} J are {what}, {100 * part[w]:.3g} % of the energy exchanged")
            for w in worlds]  # fmt: skip
