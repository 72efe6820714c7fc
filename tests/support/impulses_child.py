"""A process of its own that solves random piles: python impulses_child.py PRECISION COUNT KAPPA OUT.npz."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))
from support import impulse_problems as problems
from support.device import live_device
from support.impulses import Bench

if __name__ == "__main__":
    precision, count, kappa = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    bench = Bench(live_device(precision), 30, 8, 24, count)
    piles = [problems.pile(seed, kappa=kappa) for seed in range(count)]
    cold = bench.solve(piles, rounds=6)
    noise = [np.random.default_rng(seed).normal(size=30) * 1e-3 for seed in range(count)]
    impulses = cold.contacts[:, :20]
    warm = bench.solve(
        [replace(one, start=x, centre=x, free=one.free + v) for one, x, v in zip(piles, impulses, noise, strict=True)]
    )
    out = {f"{name}_{key}": value for name, found in (("cold", cold), ("warm", warm)) for key, value in vars(found).items()}
    np.savez(sys.argv[4], **out)
