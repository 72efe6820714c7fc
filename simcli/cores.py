"""How many cores a process may use. Never here: who uses them."""

import os


def cores() -> int:
    """Cores that this process may use: of the machine, less what a scheduler or a container keeps from it."""
    try:
        mine = len(os.sched_getaffinity(0))
    except AttributeError:  # macOS
        mine = os.cpu_count() or 1
    of_job = os.environ.get("SLURM_CPUS_PER_TASK", "")  # which some schedulers do not enforce
    return max(1, min(mine, _quota(), int(of_job) if of_job.isdigit() else mine))


def _quota() -> int:
    """Cores' worth of time that the control group of this process gets."""
    try:
        with open("/sys/fs/cgroup/cpu.max") as stream:
            quota, period = stream.read().split()
        return max(1, int(quota) // int(period))
    except (OSError, ValueError):  # no such file, or "max"
        return os.cpu_count() or 1
