"""`simcli bench --task cubes`: piles of cubes with barrier contact, steps per second and Newton iterations."""

from collections.abc import Iterator
from pathlib import Path

from simcli.cli import console

_SIDES = (2, 3, 4)  # cubes along each edge of a pile
_SIZE, _APART = 0.2, 0.02  # [m]
DURATION = 0.5  # [s]: they fall, meet, and lie


def time_cubes(folder: Path, worlds: int, device: str, threads: int, sets: tuple[str, ...]) -> Iterator[dict]:
    """One row per pile.

    Args:
        folder: where scenes and files go.
        worlds: of each run.
        device: of the runs.
        threads: of the runs.
        sets: overrides of the scenes.

    Yields:
        cubes, worlds, steps; seconds of stepping, world-steps per second; mean and largest number of Newton iterations of a
        step; largest number of contacts; seconds of compiling.
    """
    from simcli import pipeline
    from simcli.records.reading.reader import open_trajectory

    for side in _SIDES:
        path = folder / f"cubes{side**3}.yaml"
        path.write_text("\n".join(_pile(side)) + "\n")
        request = pipeline.Request(path, folder / "cubes.h5", (*sets, f"batch.worlds={worlds}"), device, threads, force=True)
        job = pipeline.prepare(request)
        with console.stdout_kept_clean():
            outcome = pipeline.execute(job)
        with open_trajectory(job.output) as trajectory:
            iterations, contacts = (trajectory.column(f"diag/{name}")[1:] for name in ("iterations", "contacts"))
        steps = job.schedule.n_steps
        yield {
            "cubes": side**3, "worlds": worlds, "steps": steps, "seconds": outcome.stepping,
            "per_second": worlds * steps / outcome.stepping, "iterations": float(iterations.mean()),
            "most_iterations": int(iterations.max()), "contacts": int(contacts.max()), "compile": outcome.compile,
        }  # fmt: skip


def _pile(side: int) -> list[str]:
    """Lines of a scene of affine cubes."""
    return [*boxes(side), "solver: {type: affine, dt: 0.01, contact: {d_hat: 2 mm}}", f"run: {{duration: {DURATION}}}",
            "output: {every: 0.01, channels: [joints]}"]  # fmt: skip


def boxes(side: int) -> list[str]:
    """Lines of a scene without its solver: cubes over each other, every layer a little beside the one below."""
    lines = ["simcli: 1", "world: {shapes: {ground: {type: plane}}}", "bodies:"]
    for k in range(side**3):
        layer, shift = k // side**2, 0.2 * _APART * (k // side**2 % 2)
        x, y = (i * (_SIZE + _APART) + shift for i in (k % side, k // side % side))
        z = _SIZE / 2 + _APART + layer * (_SIZE + _APART)
        lines.append(f"  c{k}: {{pose: {{xyz: [{x:.4f}, {y:.4f}, {z:.4f}]}}, shapes: {{it: {{type: box, "
                     f"size: [{_SIZE}, {_SIZE}, {_SIZE}], density: 1000}}}}}}")  # fmt: skip
    return lines


def table(rows: list[dict]) -> str:
    """The rows as text."""
    head = ("cubes", "worlds", "steps", "steps per second", "iterations", "most", "contacts", "compile s")
    lines = [(str(row["cubes"]), str(row["worlds"]), str(row["steps"]), f"{row['per_second']:.3g}",
              f"{row['iterations']:.2f}", str(row["most_iterations"]), str(row["contacts"]), f"{row['compile']:.1f}")
             for row in rows]  # fmt: skip
    return console.table(lines, head, indent="")
