"""What `simcli show` says of a model: its tree, the layout of its coordinates, its degrees of freedom.

Plain lists and dictionaries that can be written as JSON, and lines of text made from them. Where a function takes
`joints`, names of joints, it leaves the others out; None shows all.
"""

from collections.abc import Container

import numpy as np

from simcli.model.bodies.contact_pairs import idle_shapes
from simcli.model.constraints.mobility import bilateral_rows, loop_ranks
from simcli.model.joints.catalogue import CATALOGUE, TYPE_NAME
from simcli.model.joints.selection import choose_selection, owners
from simcli.model.tables.model import WORLD, JointKind, Model
from simcli.spec.base.patterns import Pattern

_QUATERNION = ("qx", "qy", "qz", "qw")


def joint_type(model: Model, joint: int) -> str:
    """Type of a joint as scenes spell it."""
    return TYPE_NAME[JointKind(model.joints.kind[joint])]


def describe_selection(model: Model, pattern: Pattern) -> dict[str, list[str]]:
    """What a pattern means.

    Args:
        model: the tables.
        pattern: over bodies, joints and articulations.

    Returns:
        Names of `articulations` that a kept body or joint belongs to, `joints` and `bodies`.
    """
    bodies, joints = choose_selection(model, pattern)
    of_body, of_joint = owners(model)
    held = {*of_body[bodies].tolist(), *of_joint[joints].tolist()} - {-1}
    return {
        "articulations": [model.joints.articulation_name[a] for a in sorted(held)],
        "joints": [model.joints.name[j] for j in joints],
        "bodies": [model.bodies.name[b] for b in bodies],
    }


def selection_lines(model: Model, pattern: Pattern) -> list[str]:
    """What a pattern means, as text."""
    lines = []
    for what, names in describe_selection(model, pattern).items():
        lines += [f"{what} ({len(names)})", *(f"  {name}" for name in names)]
    return lines


def describe_tree(model: Model, joints: Container[str] | None = None) -> list[dict]:
    """The spanning tree, nested.

    Args:
        model: the tables.
        joints: shown with what they hang on.

    Returns:
        One entry per tree joint: joint, type, body, inverted (the tree runs from its child to its parent), children.
    """
    entries: dict[int, dict] = {}
    roots: list[dict] = []
    for k in range(model.n_links):
        body = int(model.links.body[k])
        if body < 0:
            continue
        j = int(model.links.joint[k])
        inverted = int(model.joints.parent[j]) == body
        entry = {
            "joint": model.joints.name[j],
            "type": joint_type(model, j),
            "body": model.bodies.name[body],
            "inverted": inverted,
            "children": [],
        }
        inner = int(model.joints.child[j] if inverted else model.joints.parent[j])
        entries[body] = entry
        (roots if inner == WORLD else entries[inner]["children"]).append(entry)
    return roots if joints is None else _pruned(roots, joints)


def _pruned(entries: list[dict], joints: Container[str]) -> list[dict]:
    """The branches that end in some of the joints."""
    kept = [{**entry, "children": _pruned(entry["children"], joints)} for entry in entries]
    return [entry for entry in kept if entry["children"] or entry["joint"] in joints]


def loops(model: Model, joints: Container[str] | None = None) -> list[dict]:
    """Joints outside the tree: joint, type, parent, child."""
    names = ("world", *model.bodies.name)
    return [
        {
            "joint": model.joints.name[j],
            "type": joint_type(model, j),
            "parent": names[model.joints.parent[j] + 1],
            "child": names[model.joints.child[j] + 1],
        }
        for j in range(model.n_joints)
        if not model.joints.is_tree[j] and (joints is None or model.joints.name[j] in joints)
    ]


def tree_lines(model: Model, joints: Container[str] | None = None) -> list[str]:
    """The tree as indented text, then the joints that close loops."""
    lines = ["world"]

    def add(entries: list[dict], depth: int) -> None:
        for entry in entries:
            arrow = "<-" if entry["inverted"] else "->"
            lines.append(f"{'  ' * depth}{entry['joint']} ({entry['type']}) {arrow} {entry['body']}")
            add(entry["children"], depth + 1)

    add(describe_tree(model, joints), 1)
    closing = [f"  {e['joint']} ({e['type']}): {e['parent']} -> {e['child']}" for e in loops(model, joints)]
    lines += ["closing loops:", *closing] if closing else []
    idle = idle_names(model) if joints is None else []
    return lines + ([f"shapes that cannot touch anything: {', '.join(idle)}"] if idle else [])


def idle_names(model: Model) -> list[str]:
    """Names of shapes that collide, but can touch nothing."""
    return [model.shapes.name[s] for s in idle_shapes(model)]


def layout(model: Model, joints: Container[str] | None = None) -> dict[str, list[dict]]:
    """What stands at each place of joint_q and joint_qd.

    Args:
        model: the tables.
        joints: that are shown.

    Returns:
        `joint_q` and `joint_qd`: lists of index, label, joint, type, unit, initial value in world 0.
    """
    out: dict[str, list[dict]] = {"joint_q": [], "joint_qd": []}
    for j, name in enumerate(model.joints.name):
        if joints is not None and name not in joints:
            continue
        entry = CATALOGUE[joint_type(model, j)]
        n_linear, n_angular = (int(n) for n in model.joints.dof_dim[j])
        scalar = ("m",) * n_linear + ("rad",) * n_angular
        with_quaternion = (*scalar[:-3], *("1",) * 4) if entry.has_quaternion else scalar
        units = {"joint_q": with_quaternion, "joint_qd": [f"{unit}/s" for unit in scalar]}
        if entry.coordinates == "slots":
            units = {"joint_q": ("",) * 2, "joint_qd": ("",) * 2}
        starts = {"joint_q": model.joints.q_start[j], "joint_qd": model.joints.qd_start[j]}
        labels = {"joint_q": model.dofs.q_label, "joint_qd": model.dofs.label}
        values = {"joint_q": model.joint_q, "joint_qd": model.joint_qd}
        places = ("px", "py", "pz") if entry.coordinates == "pose" else ("",) * (len(scalar) - 3)
        letters = (*places, *_QUATERNION) if entry.has_quaternion else ()
        for key, rows in out.items():
            for i, unit in enumerate(units[key]):
                index = int(starts[key]) + i
                value = float(values[key][0, index])
                row = {
                    "index": index,
                    "label": labels[key][index],
                    "joint": name,
                    "type": joint_type(model, j),
                    "unit": unit,
                    "initial": value if np.isfinite(value) else None,
                }
                if key == "joint_q" and letters and letters[i]:
                    row["component"] = letters[i]
                rows.append(row)
    return out


def layout_lines(model: Model, joints: Container[str] | None = None) -> list[str]:
    """The layout as a table of text."""
    lines = []
    for key, rows in layout(model, joints).items():
        width = max((len(row["label"]) for row in rows), default=0)
        lines.append(f"{key} ({len(rows)})")
        for row in rows:
            initial = "" if row["initial"] is None else f"{row['initial']:.6g}"
            component = row.get("component", "")
            lines.append(f"  {row['index']:4d}  {row['label']:<{width}}  {component:<2}  {row['unit']:<5}  {initial}")
    return lines


def freedom(model: Model, joints: Container[str] | None = None) -> dict:
    """Degrees of freedom at the initial configuration of world 0.

    Args:
        model: the tables.
        joints: that are listed; the sums are those of the whole model.

    Returns:
        `tree_dofs`: dofs of the tree; `rows`: bilateral rows of loop joints and rods; `rank`: independent ones among them;
        `dof`: tree_dofs - rank; `joints`: per joint name, type, dofs, rows, in_tree; `redundant`: per joint with
        dependent rows, how many and the joints that they depend on.
    """
    ranks = loop_ranks(model)
    listed = []
    tree_dofs = 0
    for j, name in enumerate(model.joints.name):
        type_name = joint_type(model, j)
        in_tree = bool(model.joints.is_tree[j])
        dofs = int(model.joints.dof_dim[j].sum())
        tree_dofs += dofs if in_tree else 0
        rows = len(bilateral_rows(model, j))
        if joints is None or name in joints:
            listed.append({"joint": name, "type": type_name, "dofs": dofs, "rows": rows, "in_tree": in_tree})
    rows = sum(one.rows for one in ranks)
    rank = sum(one.rank for one in ranks)
    short = [one for one in ranks if one.rows > one.rank]
    redundant = [{"joint": one.joint, "rows": one.rows - one.rank, "with": one.before} for one in short]
    return {
        "tree_dofs": tree_dofs,
        "rows": rows,
        "rank": rank,
        "dof": tree_dofs - rank,
        "joints": listed,
        "redundant": redundant,
    }


def freedom_lines(model: Model, joints: Container[str] | None = None) -> list[str]:
    """The degrees of freedom as text."""
    data = freedom(model, joints)
    lines = [f"dof {data['dof']} = {data['tree_dofs']} of the tree - {data['rank']} independent constraint equations"]
    width = max((len(one["joint"]) for one in data["joints"]), default=0)
    for one in data["joints"]:
        place = "tree" if one["in_tree"] else "loop"
        lines.append(f"  {one['joint']:<{width}}  {one['type']:<11}  {place}  dofs {one['dofs']}  equations {one['rows']}")
    for one in data["redundant"]:
        among = f", given {', '.join(one['with'])}" if one["with"] else ""
        several = "s" if one["rows"] > 1 else ""
        lines.append(f"{one['rows']} redundant constraint equation{several} in joint `{one['joint']}`{among}")
    return lines
