"""Files whose headers claim what they do not have: one error, where Polars would end the process."""

import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hyperlabel import VotesError
from hyperlabel.tables import Table, read_table
from hyperlabel.tables.claims import check_arrow, check_parquet

DAMAGED = Path(__file__).parent / "campaign" / "damaged"
READ = """
import sys, hyperlabel as hl
for path in sys.argv[1:]:
    try:
        hl.read_votes(path)
    except hl.VotesError as error:
        print(error)
"""


def test_files_that_once_ended_the_process_are_refused():
    files = [DAMAGED / name for name in ("saved.parquet", "values.parquet", "header.parquet", "buffer.arrow")]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    child = subprocess.run([sys.executable, "-c", READ, *files], env=env, capture_output=True, text=True, check=True)
    saved, values, header, buffer = child.stdout.splitlines()
    assert "the page at byte 225 claims -13 values in 22 bytes. Is it a complete parquet file?" in saved
    assert "the page at byte 745 claims -13 values" in values
    assert "a header has fields of wrong types" in header
    assert "exceeds available number of buffers. Is it a complete Arrow file?" in buffer


FRAME = pl.DataFrame(
    {"list": [[1, 2], [3], []], "struct": [{"a": 1}, {"a": None}, None], "text": ["ä", None, "b" * 300]}
)
WAYS = [
    {},
    {"data_page_version": "2.0", "compression": "gzip", "write_page_index": True},
    {"use_dictionary": False, "compression": "none", "write_page_checksum": True},
    {"data_page_size": 1, "row_group_size": 2, "version": "1.0"},
]


@pytest.mark.parametrize("options", WAYS)
def test_whole_parquet_files_of_other_writers_pass(tmp_path, options):
    pq.write_table(FRAME.to_arrow(), tmp_path / "v.parquet", **options)
    check_parquet(tmp_path / "v.parquet")
    assert read_table(tmp_path / "v.parquet").equals(FRAME)


def test_dictionary_may_have_more_entries_than_the_column_has_rows(tmp_path):
    many = pd.Categorical(["a", None], categories=[f"x{i}" for i in range(500)] + ["a"])
    pd.DataFrame({"c": many}).to_parquet(tmp_path / "v.parquet")
    assert read_table(tmp_path / "v.parquet")["c"].to_list() == ["a", None]


def test_row_groups_without_rows_pass(tmp_path):
    pl.DataFrame({"a": []}, schema={"a": pl.Int8}).write_parquet(tmp_path / "v.parquet")
    assert Table.open(tmp_path / "v.parquet").columns == ["a"]


def damage(path, start, byte):
    data = bytearray(path.read_bytes())
    data[start] = byte
    path.write_bytes(data)


def test_page_longer_than_its_file_is_refused(tmp_path):
    path = tmp_path / "v.parquet"
    pl.DataFrame({"a": list(range(9000))}).write_parquet(path, compression="uncompressed")
    packed = path.read_bytes().index(b"\x15", 8)  # the third number of the header: bytes of the page
    damage(path, packed + 3, 0x7F)
    with pytest.raises(VotesError, match=r"v\.parquet' cannot be read: .* at byte 4 .*Is it a complete parquet file\?"):
        read_table(path)


def test_nested_headers_end_somewhere(tmp_path):
    footer = b"\x1c" * 5000  # a struct in a struct in a struct
    (tmp_path / "v.parquet").write_bytes(b"PAR1" + footer + len(footer).to_bytes(4, "little") + b"PAR1")
    with pytest.raises(VotesError, match="the header of its footer at byte 4 is damaged"):
        read_table(tmp_path / "v.parquet")


@pytest.mark.parametrize("compression", ["uncompressed", "lz4", "zstd"])
def test_whole_arrow_files_and_streams_pass(tmp_path, compression):
    FRAME.write_ipc(tmp_path / "v.arrow", compression=compression)
    check_arrow(tmp_path / "v.arrow")
    FRAME.write_ipc_stream(tmp_path / "s.arrow", compression=compression)
    check_arrow(tmp_path / "s.arrow")
    assert read_table(tmp_path / "s.arrow").equals(FRAME)


def test_arrow_batches_that_are_cut_off_are_refused(tmp_path):
    table = pa.table({"a": list(range(1000))})
    with pa.OSFile(str(tmp_path / "s.arrow"), "wb") as out, pa.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table)
    whole = (tmp_path / "s.arrow").read_bytes()
    (tmp_path / "s.arrow").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(VotesError, match=r"s\.arrow' cannot be read: .*Is it a complete Arrow file\?"):
        read_table(tmp_path / "s.arrow")
