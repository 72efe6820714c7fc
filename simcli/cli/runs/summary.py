"""What a run says before it starts and after it has ended, for people and as JSON."""

from shlex import quote
from typing import Any

from simcli.cli import console
from simcli.cli.console import plural
from simcli.errors import Exit

MAX_MOVES = 6  # joints that the line on the start names
MOST_WORLDS = 8  # that it names of each
_NOTED = ("SC329", "SC330", "SC209")  # of what may move otherwise than is meant, and of old names
_MAX_ROWS = 20  # rows of a table on a terminal; the JSON and the file hold all of them


def job_text(job) -> str:
    """What is about to run, one line."""
    model, schedule = job.model, job.schedule
    return (
        f"{job.spec.name}: {plural(model.n_bodies, 'body')}, {plural(model.n_joints, 'joint')}, dof {model.n_qd}, "
        f"{plural(model.n_worlds, 'world')}, {schedule.n_steps} steps of {schedule.dt:g} s, {solver_text(job)}"
    )


def solver_text(job) -> str:
    """Solver and integrator, with the reason where the scene leaves the choice open."""
    from simcli.spec.resolve import why_integrator

    why = why_integrator(job.document)
    return f"{job.spec.solver.type}, {job.spec.solver.integrator}" + (f" ({why})" if why else "")


def notes_of_scene(job) -> list[str]:
    """Notes of the scene on where it begins, and on old names of keys, as lines; the others are those of `check`."""
    from simcli.model.joints.anchors import placeless_text
    from simcli.spec.resolve import warnings

    document = job.document
    name, text, hint = placeless_text(job.spec, job.model.bodies)
    hinges = [f"{document.where(f'joints.{name}')}: {text}: {hint}"] if name else []
    return hinges + [f"{fault.where}: {fault.message}: {fault.hint}" for fault in warnings(document) if fault.code in _NOTED]


def start_text(model, verbose: int = 0) -> str:
    """What the closing of loops has moved, one line; "" if nothing."""
    farthest: dict[int, object] = {}
    for move in sorted(model.start.moves, key=lambda move: (not move.is_written, -move.size)):
        farthest.setdefault(move.joint, move)
    if not farthest:
        return ""
    shown = list(farthest) if verbose else list(farthest)[:MAX_MOVES]
    words = [_move_words(model, farthest[j], [one.world for one in model.start.moves if one.joint == j]) for j in shown]
    more = f", and {len(farthest) - len(shown)} more (-v shows all)" if len(farthest) > len(shown) else ""
    where = ", each in the world where it moved farthest" if model.n_worlds > 1 else ""
    return f"loops closed at the start: {', '.join(words)}{more}{where}"


def _move_words(model, move, worlds: list[int]) -> str:
    """How far a joint moved; of a written coordinate in which worlds."""
    from simcli.model.closure.begin import change_text

    text = f"`{model.joints.name[move.joint]}` {change_text(model.joints, move)}"
    if not move.is_written:
        return text
    if model.n_worlds == 1 or move.n_worlds == model.n_worlds:
        return f"{text} (written)" if model.n_worlds == 1 else f"{text} (written, in all {model.n_worlds} worlds)"
    more = f" and {len(worlds) - MOST_WORLDS} more" if len(worlds) > MOST_WORLDS else ""
    return f"{text} (written, in {plural(len(worlds), 'world')}: {', '.join(map(str, worlds[:MOST_WORLDS]))}{more})"


def start_json(model) -> list[dict[str, Any]]:
    """The same for programs."""
    return [
        {
            "joint": model.joints.name[one.joint],
            "world": one.world,
            "worlds": one.n_worlds,
            "from": one.before,
            "to": one.after,
            "written": one.is_written,
            "why": one.reason,
        }
        for one in model.start.moves
    ]


def _last(estimate: dict[str, Any]) -> str:
    return f", the last after {estimate['last_steps']}" if estimate["last_steps"] else ""


def estimate_text(estimate: dict[str, Any]) -> str:
    """The answer of `run --dry-run`."""
    rows = [
        ("scene", estimate["scene"]),
        ("solver", f"{estimate['solver']}, {estimate['precision']}"),
        ("bodies, joints, dof", f"{estimate['bodies']}, {estimate['joints']}, {estimate['dof']}"),
        ("worlds", estimate["worlds"]),
        ("steps", f"{estimate['steps']} of {estimate['dt']:g} s"),
        ("frames", f"{estimate['frames']} (one every {estimate['steps_per_frame']} steps{_last(estimate)})"),
        ("channels", ", ".join(estimate["channels"])),
        ("file", f"about {console.size_text(estimate['file_bytes'])}: {estimate['output']}"),
        ("memory", f"about {console.size_text(estimate['memory_bytes'])}"),
        ("preparation", f"{console.duration_text(estimate['preparation_seconds'])}, as measured"),
    ]
    if estimate.get("steps_for_error_estimate"):
        rows.insert(5, ("error estimate", f"{estimate['steps_for_error_estimate']} more steps, of a half and a quarter"))
    if estimate["most_contact_bytes"]:
        rows.insert(-2, ("contacts", f"up to {console.size_text(estimate['most_contact_bytes'])} more in the file"))
    if estimate["file_bytes"] > estimate["free_bytes"]:
        rows.append(("does not fit", f"{console.size_text(estimate['free_bytes'])} are free there"))
    return console.table(rows, indent="")


def outcome_text(outcome, solver: str = "", verbose: int = 0) -> str:
    """The closing words of a run; `solver` is what `solver_text` says."""
    head = {"done": "done", "stopped": "stopped", "failed": "stopped at a failure"}[outcome.status]
    if outcome.status == "done" and outcome.failures and len(outcome.failures) == outcome.n_worlds:
        head = "failed"
    good = outcome.status == "done" and not (outcome.failures or outcome.untrusted or outcome.unsolved_fails)
    head = console.paint(head, "good" if good else "warn")
    drift = [console.paint("energy: ", "warn") + drift_text(outcome.drift, bool(outcome.untrusted))] if outcome.drift else []
    gains = drift if outcome.drift and outcome.drift.is_gain else []
    lines = [
        *gains,
        f"{head}: {plural(outcome.n_worlds, 'world')} x {plural(outcome.n_steps, 'step')} in "
        f"{console.duration_text(outcome.stepping)}, {console.count_text(outcome.rate)} world-steps/s "
        f"(compiling {console.duration_text(outcome.compile)}, whole run {console.duration_text(outcome.wall)})",
        *([f"  solver  {solver}"] if solver else []),
        f"  device  {outcome.device.get('name', '?')}, {outcome.device.get('precision', '?')}",
        f"  file    {outcome.output}  ({plural(outcome.n_frames, 'frame')}, {console.size_text(outcome.n_bytes)})",
    ]
    if outcome.sub_batches:
        lines.append("  " + parts_text(outcome))
    if outcome.first_frame and outcome.first_frame == outcome.n_frames:
        lines.append("  the run was complete: nothing was left to do")
    elif outcome.first_frame:
        lines.append(f"  {plural(outcome.first_frame, 'frame')} of them from before")
    if outcome.problem:
        lines.append(console.paint("  warning: ", "warn") + outcome.problem)
    if outcome.n_stopped:
        lines.append(f"  {plural(outcome.n_stopped, 'world')} met run.stop_when and ended early")
    if outcome.warnings:
        counts = ", ".join(f"{code} x {count}" for code, count in sorted(outcome.warnings.items()))
        lines.append(console.paint("  warnings: ", "warn") + f"{counts}; simcli info on the file lists them")
    if outcome.unsolved:
        lines.append("  " + unsolved_line(outcome))
    lines += [f"  {line}" for line in drift if not gains]
    lines += [f"  {line}" for line in untrusted_lines(outcome, len(outcome.untrusted) if verbose else _MAX_ROWS)]
    lines += _failures(outcome.failures, len(outcome.failures) if verbose else _MAX_ROWS)
    lines += _verdicts(outcome.verdicts, len(outcome.verdicts) if verbose else _MAX_ROWS)
    if good and all(verdict.passed for verdict in outcome.verdicts):
        more = " --open, or simcli plot" if outcome.best_shown == "view" else ""
        lines.append(console.paint(f"  next: simcli {outcome.best_shown} {quote(str(outcome.output))}{more}", "dim"))
    if outcome.status == "stopped":
        lines.append(console.paint("  next: the same command with --resume goes on", "dim"))
    return "\n".join(lines)


def parts_text(outcome) -> str:
    """In how many parts a run was made, and where those of one that is stopped stand."""
    n, most, total = len(outcome.sub_batches), max(outcome.sub_batches), sum(outcome.sub_batches)
    text = f"memory  of the device does not hold {total} worlds: they ran in {n} parts of {most} at most, one after another"
    return text if outcome.status == "done" else f"{text}; the file of all is written after the last"


def unsolved_line(outcome) -> str:
    """How many steps did not converge, and the largest residual; a quiet run says it too."""
    u = outcome.unsolved
    word = console.paint("error:", "bad") if outcome.unsolved_fails else console.paint("warning:", "warn")
    total = outcome.n_steps * u.n_worlds
    steps = f"{u.n_steps} of {plural(total, 'step')}" if total else plural(u.n_steps, "step")
    count = f"{steps} did not converge ({plural(u.n_worlds, 'world')})"
    worst = f"largest residual {u.residual:.3g} m/s at t = {u.time:.6g} s (step {u.step} of world {u.world})"
    return f"{word} {count}; {worst}: simcli explain SC661"


def untrusted_lines(outcome, limit: int) -> list[str]:
    """Worlds that came to their end, but are not to be trusted, and why."""
    lines = [
        f"{console.paint('error:', 'bad')} world {one.world}: {one.text}: simcli explain {one.code}"
        for one in outcome.untrusted[:limit]
    ]
    more = len(outcome.untrusted) - limit
    return lines + [f"and {more} more: simcli info on the file lists them, -v shows all"] * (more > 0)


def drift_text(drift, is_untrusted: bool = False) -> str:
    """The error of the energy balance, and what to try: for overlaps, no smaller step."""
    is_bad_start = drift.touches and (is_untrusted or drift.is_gain)
    advice = "see what `simcli check` says of the start" if is_bad_start else f"try {drift.advice}"
    share = f"{100 * drift.part:.3g} % of the {drift.energy:.3g} J exchanged"
    return f"balance error in world {drift.world}: {drift.drift:.3g} J ({share}); {advice}"


def problem_line(outcome, code: int) -> str:
    """The one line that a quiet run still says when it did not end well, besides that on unsolved steps."""
    if code == Exit.SIMULATION:
        return f"{console.paint('error:', 'bad')} {len(outcome.failures)} of {plural(outcome.n_worlds, 'world')} failed"
    if code == Exit.NEGATIVE:
        failed = sum(not verdict.passed for verdict in outcome.verdicts)
        return f"{console.paint('error:', 'bad')} {failed} of {plural(len(outcome.verdicts), 'expectation')} failed"
    return f"stopped: {outcome.output} holds {plural(outcome.n_frames, 'frame')}; --resume goes on"


def outcome_json(outcome) -> dict[str, Any]:
    """The outcome as the document of `run --json`."""
    return {
        "output": outcome.output,
        "status": outcome.status,
        "worlds": outcome.n_worlds,
        "steps": outcome.n_steps,
        "frames": outcome.n_frames,
        "frames_from_before": outcome.first_frame,
        "file_bytes": outcome.n_bytes,
        "wall_s": outcome.wall,
        "compile_s": outcome.compile,
        "kernels": {
            "compiled": len(outcome.kernels_compiled),
            "from_cache": len(outcome.kernels_from_cache),
            "compiled_names": outcome.kernels_compiled,
        },
        "stepping_s": outcome.stepping,
        "world_steps_per_s": outcome.rate,
        "device": outcome.device,
        "worlds_of_parts": list(outcome.sub_batches),
        "worlds_stopped_early": outcome.n_stopped,
        "warnings": outcome.warnings,
        "unsolved": vars(outcome.unsolved) if outcome.unsolved else None,
        "energy_drift": {**vars(outcome.drift), "part": outcome.drift.part} if outcome.drift else None,
        "untrusted": [{"world": one.world, "code": one.code, "text": one.text} for one in outcome.untrusted],
        "failures": [vars(failure) for failure in outcome.failures],
        "expectations": [verdict.as_dict() for verdict in outcome.verdicts],
    }


def _failures(failures: list, limit: int) -> list[str]:
    if not failures:
        return []
    rows = [(f.world, f.step, f"{f.time:g}", f.body or f.joint or "-", f.code, f.text) for f in failures[:limit]]
    lines = [
        console.paint(f"  {plural(len(failures), 'world')} failed", "bad")
        + f" and {'stands' if len(failures) == 1 else 'stand'} frozen:"
    ]
    lines.append(console.table(rows, ("world", "step", "time", "body", "code", "reason"), indent="    "))
    if len(failures) > limit:
        lines.append(f"    and {len(failures) - limit} more: simcli info on the file lists them, -v shows all")
    return lines


def _verdicts(verdicts: list, limit: int) -> list[str]:
    if not verdicts:
        return []
    failed = [verdict for verdict in verdicts if not verdict.passed]
    word = console.paint(f"{len(failed)} of {len(verdicts)} failed", "bad") if failed else "all hold"
    rows = [verdict.row() for verdict in (failed + [v for v in verdicts if v.passed])[:limit]]
    header = ("", "expectation", "world", "time", "expected", "got", "off by")
    lines = [f"  expectations: {word}", console.table(rows, header, indent="    ")]
    if len(verdicts) > limit:
        lines.append(f"    and {len(verdicts) - limit} more (-v shows all)")
    return lines
