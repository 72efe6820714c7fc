"""Options that name files of samples, with these files named otherwise."""

from collections.abc import Callable

from simcli.spec.document.nodes import Mark, plain
from simcli.spec.document.overrides import VARY, VARY_TABLE, Override
from simcli.spec.document.vary_option import spread_values
from simcli.spec.faults.fault_list import Faults
from simcli.spec.resolved import flow_text


def renamed(override: Override | str, rename: Callable[[str], str]) -> Override | str:
    """An override with another name for the file that it reads samples from; itself if it reads none.

    Args:
        override: of the command line.
        rename: name of a file to another.
    """
    if not isinstance(override, Override) or override.option not in (VARY, VARY_TABLE):
        return override
    if override.option == VARY_TABLE:
        return override._replace(text=rename(override.text))
    key, _, text = override.text.partition("=")
    if "from" not in text:
        return override
    data = plain(spread_values(text, Mark(VARY, 1, 1, 1), Faults()))
    earlier = data.get("from") if isinstance(data, dict) else None
    if not isinstance(earlier, dict) or not isinstance(earlier.get("file"), str):
        return override
    data["from"] = {**earlier, "file": rename(earlier["file"])}
    return override._replace(text=f"{key}={flow_text(data)}")
