"""References, structure and physics of a scene that passed the schema."""

from simcli.spec.document import Document
from simcli.spec.faults import Faults
from simcli.spec.nodes import Table
from simcli.spec.schema import SceneSpec


def check_spec(spec: SceneSpec, tree: Table, document: Document, faults: Faults, broken: set[tuple[str, str]]) -> None:
    """Find everything that is wrong between the parts of a scene."""
