"""`simcli show`: what simcli understood of a scene."""

from typing import Annotated

import typer

from simcli.cli import console
from simcli.cli.options import JsonFlag, ScenePath, SetValues
from simcli.errors import Exit


def show(
    scene: ScenePath,
    resolved: Annotated[bool, typer.Option("--resolved", help="The scene with everything expanded, in SI.")] = False,
    tree: Annotated[bool, typer.Option("--tree", help="Bodies and joints; which joints close loops.")] = False,
    layout: Annotated[bool, typer.Option("--layout", help="What stands where in joint_q and joint_qd.")] = False,
    dof: Annotated[bool, typer.Option("--dof", help="Degrees of freedom, and rows that say nothing new.")] = False,
    sets: SetValues = [],  # noqa: B006
    json: JsonFlag = False,
) -> int:
    """Show the tree, the layout of the coordinates and the degrees of freedom of a scene.

    Without an option: tree, layout and dof. Example: simcli show scenes/double_pendulum.yaml --dof
    """
    from simcli.pipeline import read_scene

    document, spec = read_scene(scene, sets)
    asked = {"tree": tree, "layout": layout, "dof": dof}
    if not resolved and not any(asked.values()):
        asked = dict.fromkeys(asked, True)
    parts = [name for name, wanted in asked.items() if wanted]
    if json:
        found = _data(document, spec, parts)
        console.emit("show", {"resolved": spec.model_dump(mode="json"), **found} if resolved else found)
        return Exit.OK
    if resolved:
        from simcli.spec import resolved_yaml

        console.data(resolved_yaml(spec).rstrip("\n"))
    if parts:
        console.data("\n\n".join(_lines(document, spec, parts)))
    return Exit.OK


def _data(document, spec, parts: list[str]) -> dict:
    from simcli.model import describe

    if not parts:
        return {}
    model = _model(document, spec)
    found: dict = {"scene": spec.name}
    if "tree" in parts:
        found |= {"tree": describe.tree(model), "loops": describe.loops(model)}
    if "layout" in parts:
        found["layout"] = describe.layout(model)
    if "dof" in parts:
        found["dof"] = describe.freedom(model)
    return found


def _lines(document, spec, parts: list[str]) -> list[str]:
    from simcli.model import describe

    model = _model(document, spec)
    writers = {"tree": describe.tree_lines, "layout": describe.layout_lines, "dof": describe.freedom_lines}
    return ["\n".join(writers[name](model)) for name in parts]


def _model(document, spec):
    from simcli.pipeline import build_model

    return build_model(document, spec)
