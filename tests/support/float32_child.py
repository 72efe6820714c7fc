"""A process of its own that runs a trial in float32: python float32_child.py SEED N_WORLDS OUT.npz."""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))
from support.device import live_device
from support.forests import single_precision_forest
from support.trials import run_trial

if __name__ == "__main__":
    rng = np.random.default_rng(int(sys.argv[1]))
    trial = run_trial(rng, single_precision_forest(rng, int(sys.argv[2])), live_device("float32"))
    np.savez(sys.argv[3], **{name: value for name, value in vars(trial).items() if isinstance(value, np.ndarray)})
