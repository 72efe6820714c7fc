"""Faults in SARIF 2.1.0, which code hosts show beside the lines."""

import json
from pathlib import PurePath

from simcli.errors import Fault

SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def sarif_document(faults: list[Fault]) -> str:
    """The SARIF log of one run of `simcli check`."""
    from simcli import __version__

    codes = sorted({fault.code for fault in faults})
    driver = {
        "name": "simcli",
        "version": __version__,
        "rules": [{"id": code, "help": {"text": f"simcli explain {code}"}} for code in codes],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(fault, codes) for fault in faults],
    }
    return json.dumps({"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)


def _result(fault: Fault, codes: list[str]) -> dict:
    text = f"{fault.message} ({fault.hint})" if fault.hint else fault.message
    result = {
        "ruleId": fault.code,
        "ruleIndex": codes.index(fault.code),
        "level": fault.severity,
        "message": {"text": text},
    }
    if fault.where is not None:
        location: dict = {"artifactLocation": {"uri": PurePath(fault.where.file).as_posix()}}
        if fault.where.line:
            location["region"] = {
                "startLine": fault.where.line,
                "startColumn": fault.where.column,
                "endColumn": fault.where.column + fault.where.length,
            }
        result["locations"] = [{"physicalLocation": location}]
    return result
