"""Solvers and integrators, from the scene format itself."""

from typing import get_args

from simcli.spec.schema.scene import SolverSpec

MODES = [
    (get_args(kind.model_fields["type"].annotation)[0], integrator)
    for kind in get_args(get_args(SolverSpec)[0])
    for integrator in get_args(kind.model_fields["integrator"].annotation)
    if integrator != "auto"
]
