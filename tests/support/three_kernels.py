"""Three kernels for a field of a size: of another size they are others."""

from simcli.kernels.language import ti


@ti.kernel
def fill(x: ti.template()):
    for i in x:
        x[i] = 1.0


@ti.kernel
def double(x: ti.template()):
    for i in x:
        x[i] *= 2.0


@ti.kernel
def first(x: ti.template()) -> ti.f64:
    return x[0]


def use(n: int) -> float:
    """Call all on the device that is started; gives 2."""
    field = ti.field(ti.f64, n)
    fill(field)
    double(field)
    return first(field)
