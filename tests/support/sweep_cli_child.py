"""The command line as it is, but for what runs a chunk: `python -m support.sweep_cli_child sweep run ...`."""

import sys
from dataclasses import replace

from simcli.cli import main
from simcli.sweeps.executors import pool
from support.sweep_stand_in import FUNCTION

if __name__ == "__main__":
    begin = pool.Pool.__init__
    pool.Pool.__init__ = lambda self, n, work: begin(self, n, replace(work, function=FUNCTION))
    sys.argv[0] = "simcli"
    sys.exit(main())
