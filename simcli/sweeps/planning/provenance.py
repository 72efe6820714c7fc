"""Which simcli this is: what the names of cases rest on, and what workers elsewhere must have as well."""

from functools import cache


@cache
def own_version() -> str:
    """Version of simcli, and digest of the code that decides what the bytes of a result are."""
    import simcli
    from simcli.source_digest import code_digest

    return f"simcli {simcli.__version__}, code {code_digest()[:12]}"
