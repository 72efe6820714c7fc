"""Groups of results and names of components, which scenes and files have in common: neither loads the other for them."""

XYZ, QUATERNION = ("x", "y", "z"), ("x", "y", "z", "w")
WRENCH = ("fx", "fy", "fz", "tx", "ty", "tz")
# Groups of results, keys of `output.channels`, with the others that one stands for.
OUTPUT_CHANNELS: dict[str, tuple[str, ...]] = {
    "state": ("joints", "bodies"),
    "joints": (),
    "bodies": (),
    "energy": (),
    "contacts": (),
    "reactions": (),
    "body_qdd": (),
}
