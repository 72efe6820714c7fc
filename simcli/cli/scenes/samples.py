"""`simcli samples`: what a batch would draw, a row per world."""

from simcli.cli import console
from simcli.cli.options import JsonFlag, Replace, ScenePath, Seed, SetValues, VaryTable, VaryValues, WorldCount
from simcli.cli.results.table import Chosen, TableOutput, claim_table, save_table, show_rows
from simcli.cli.runs.run_options import batch_overrides
from simcli.errors import Exit


def samples(
    scene: ScenePath,
    output: TableOutput = None,
    sets: SetValues = [],  # noqa: B006  (Typer copies it)
    vary: VaryValues = [],  # noqa: B006
    vary_table: VaryTable = None,
    worlds: WorldCount = None,
    seed: Seed = None,
    force: Replace = False,
    json: JsonFlag = False,
) -> int:
    """Show the numbers that a batch would draw, or write them as a table for --vary-table.

    `simcli run SCENE --vary-table FILE` of the written table makes the same worlds, to the byte.
    Example: simcli samples scenes/double_pendulum.yaml --worlds 8 --vary "joints.elbow.q=lhs(0, 1)" -o samples.csv
    """
    from simcli.analysis.worlds.batch_values import sample_table
    from simcli.pipeline import read_scene

    document, spec = read_scene(scene, (*batch_overrides(vary, vary_table, worlds, seed), *sets))
    claim_table(output, json, force, document.inputs)
    found = sample_table(document, spec)
    if output is not None:
        save_table(found, output, console.plural(found.n_rows, "world"))
    if json:
        columns = [{"name": one.name, "unit": one.unit, "values": one.values} for one in found.columns.values()]
        console.emit("samples", {"scene": scene, "worlds": found.n_rows, "columns": columns, "path": output})
    elif output is None:
        show_rows(Chosen(found, found.n_rows, found.n_rows, None, True), found, "world")
    return Exit.OK
