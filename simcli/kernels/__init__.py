"""Numbers on the device: lane algebra, articulations, rigid-body algorithms and forces, in Taichi.

In: a `model.Model` and arrays. Out: arrays. Never found here: time stepping, files, scenes, printing.

Every smooth device function is written once on a "real" that is a lane pack on the CPU (4 worlds in float64, 8 in
float32, side by side in one `ti.Vector`) and a plain scalar on a GPU.
"""

from simcli.kernels import language  # noqa: F401  (what it sets has to be there before Taichi)
