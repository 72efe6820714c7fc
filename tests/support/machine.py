"""How many processes of tests the machine can hold."""

from pathlib import Path

from simcli.engines import cores

WORKER = 2.5 * 2**30  # [bytes] of a process of tests at its end: kernels that stay loaded, and what libraries keep


def workers_that_fit() -> int:
    """As many as there are cores, or fewer where the memory that is free does not hold so many."""
    free = free_memory()
    return max(1, min(cores(), cores() if free is None else int(free // WORKER)))


def free_memory(root: Path = Path("/")) -> int | None:
    """[bytes] that new processes can take: of the machine, or of the control group; None where the system does not say.

    Args:
        root: of the file system.
    """
    found = []
    try:
        lines = (root / "proc/meminfo").read_text().splitlines()
        found += [1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable")]
    except OSError:  # not Linux
        pass
    group = root / "sys/fs/cgroup"
    try:
        most, used = ((group / name).read_text() for name in ("memory.max", "memory.current"))
        kept = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())  # files that give way
        found.append(int(most) - int(used) + int(kept.get("inactive_file", 0)))
    except (OSError, ValueError):  # no such group, or "max"
        pass
    return min(found, default=None)
