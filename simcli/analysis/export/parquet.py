"""Parquet: columns `time`, `world` and the channels, their units in the metadata of the fields. A row group per block."""

from pathlib import Path

from simcli.analysis.export.tables import Extract, Header, Seen, unseen
from simcli.errors import UsageError
from simcli.records.drafts import drafted
from simcli.spec.samples.sheets import PARQUET_HINT


def pyarrow_of():
    """The library and its module for Parquet.

    Raises:
        UsageError: it is not there; the message says how to get it.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise UsageError(PARQUET_HINT) from error
    return pyarrow, pyarrow.parquet


def write(asked: Extract, path: Path, seen: Seen = unseen) -> int:
    """Write a file; returns its number of rows."""
    pa, parquet = pyarrow_of()
    table = asked.table()
    schema = pa.schema([pa.field(one.name, _type(pa, one), metadata={"unit": one.unit}) for one in table.headers])
    words = [one.name for one in table.headers if one.kind[0] not in "fi"]  # numbers rarely repeat
    with drafted(path) as draft, parquet.ParquetWriter(draft, schema, use_dictionary=words) as writer:
        for columns in table.blocks(seen):
            arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))  # which keeps nothing, as write_batch does
    return table.n_rows


def _type(pa, header: Header):
    return {"f": pa.float64(), "i": pa.int64()}.get(header.kind[0], pa.string())
