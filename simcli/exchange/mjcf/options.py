"""What a compiled model says of the world and of its time stepping."""

import math

from simcli.exchange.mechanism import SourceModel
from simcli.exchange.mjcf.source import MjcfSource

_SLACK = 1e-9  # of a step, by which a second may miss a whole number of them
_GRAVITY = (0.0, 0.0, -9.81)  # of scenes that do not write it


def read_options(source: MjcfSource, mechanism: SourceModel) -> None:
    """Give a scene the gravity, the solver and the switches of a model."""
    option, bits = source.model.opt, source.mujoco.mjtDisableBit
    gravity = (0.0, 0.0, 0.0) if option.disableflags & bits.mjDSBL_GRAVITY else tuple(map(float, option.gravity))
    if gravity != _GRAVITY:
        mechanism.world_words["gravity"] = list(gravity)
    if option.disableflags & (bits.mjDSBL_CONTACT | bits.mjDSBL_CONSTRAINT):
        mechanism.sections["contact"] = {"enabled": False}
    mechanism.sections["solver"] = {"type": "generalized", "dt": _in_ms(float(option.timestep)),
                                    "integrator": integrator_of(source)}  # fmt: skip
    mechanism.sections["run"] = {"duration": _whole_steps(float(option.timestep))}


def _whole_steps(step: float) -> float:
    """About a second, [s]."""
    return float(f"{max(1, math.ceil(1.0 / step - _SLACK)) * step:.10g}")


def integrator_of(source: MjcfSource) -> str:
    """The integrator that does what that of the model does: of first order, of fourth, or implicit."""
    kinds = source.mujoco.mjtIntegrator
    by_kind = {int(kinds.mjINT_EULER): "semi_implicit", int(kinds.mjINT_RK4): "rk4"}
    return by_kind.get(int(source.model.opt.integrator), "implicit")


def _in_ms(step: float) -> object:
    words = f"{step * 1e3:.10g}"
    return f"{words} ms" if abs(float(words) * 1e-3 - step) <= 1e-15 * step else step
