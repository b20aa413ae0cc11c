"""Tables: every form is read back equal, odd ones included; results stand whole or not at all."""

import array
import csv
import fcntl
import gzip
import io
import json
import os
import signal
import subprocess
import sys
import termios
import threading
import time
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from hyperlabel._core import printable
from hyperlabel.data import Table, check_folder_target, check_target, read_table, reading, write_table, write_whole
from hyperlabel.data._write import write_stdout
from hyperlabel.errors import ParameterError, TableWarning, VotesError

FRAME = pl.DataFrame(
    {
        "id": ["007", "1.10", "12345678901234567890", "TRUE"],
        "text": ['a "quoted" word', "two\nlines", "with, comma; and | more", "plain ä"],
        "lf_a": ["spam", None, "", "ham"],
        "lf_b": ["1", "0", None, "-1"],
    }
)
ROWS = FRAME.rows()


def write_csv(path, separator=",", encoding="utf-8", **options):
    path.write_bytes(FRAME.write_csv(separator=separator, **options).encode(encoding))
    return path


def zstd(data):
    return pa.compress(data, codec="zstd", asbytes=True)


# Reading: every form.


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("quotes", ["necessary", "always"])
def test_csv_with_any_usual_separator_is_read_as_text(tmp_path, separator, quotes):
    path = write_csv(tmp_path / "v.csv", separator, quote_style=quotes)
    assert [[cell or None for cell in row] for row in read_table(path).rows()] == [
        [cell or None for cell in row] for row in ROWS
    ]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le-mark", "utf-16-be-mark"])
def test_csv_of_a_marked_encoding_is_read(tmp_path, encoding):
    path = tmp_path / "v.csv"
    text = FRAME.write_csv()
    marked = encoding.endswith("-mark")
    path.write_bytes(("\ufeff" * marked + text).encode(encoding.removesuffix("-mark")))
    assert read_table(path).rows() == ROWS
    assert read_table(path).columns == FRAME.columns


def test_csv_in_latin_1_is_read_with_a_warning_and_without_one_if_named(tmp_path):
    path = write_csv(tmp_path / "v.csv", encoding="latin-1")
    with pytest.warns(TableWarning, match=r"v\.csv' is not UTF-8 and was read as Latin-1"):
        assert read_table(path).rows() == ROWS
    assert read_table(path, encoding="latin-1").rows() == ROWS


def test_csv_in_windows_1252_is_told_from_latin_1_by_its_quotes_dashes_and_euros(tmp_path):
    path = tmp_path / "v.csv"
    path.write_bytes("a,b\n\u201cgut\u201d,5 \u20ac \u2013 sch\u00f6n\n".encode("cp1252"))
    with pytest.warns(TableWarning, match=r"v\.csv' is not UTF-8 and was read as Windows-1252; name another encoding"):
        assert read_table(path).rows() == [("\u201cgut\u201d", "5 \u20ac \u2013 sch\u00f6n")]
    path.write_bytes(b"a,b\n\x93\x81,\xf6\n")  # Windows-1252 has no letter 0x81
    with pytest.warns(TableWarning, match="was read as Latin-1"):
        assert read_table(path).rows() == [("\x93\x81", "\u00f6")]


@pytest.mark.parametrize(
    ("name", "remedy"), [("v.json", "one object per line, and name it .jsonl"), ("v.XLSX", "Save the sheet as csv")]
)
def test_ending_of_another_format_has_its_remedy(tmp_path, name, remedy):
    path = tmp_path / name
    path.write_text("[]")
    with pytest.raises(VotesError, match=rf"ends in '.*'; expected one of .*{remedy}$"):
        read_table(path)


def test_csv_in_utf_16_without_a_mark_is_refused_until_the_encoding_is_named(tmp_path):
    path = write_csv(tmp_path / "v.csv", encoding="utf-16-le")
    with pytest.raises(VotesError, match=r"has null bytes, like UTF-16 without a mark; if so, name the encoding"):
        read_table(path)
    assert read_table(path, encoding="utf-16-le").rows() == ROWS


def test_letters_across_blocks_are_utf8_all_the_same(tmp_path):
    (tmp_path / "v.csv").write_text("a\n" + "ä" * (1 << 20) + "\n" + "x" + "ä" * (1 << 20) + "\n", encoding="utf-8")
    assert read_table(tmp_path / "v.csv")["a"].str.len_chars().to_list() == [1 << 20, (1 << 20) + 1]


@pytest.mark.parametrize("name", ["v.csv.gz", "v.CSV.GZ", "v.csv.zst", "v.jsonl.gz", "v.ndjson.zst"])
def test_compressed_text_is_read(tmp_path, name):
    data = (FRAME.write_ndjson() if "json" in name else FRAME.write_csv()).encode()
    (tmp_path / name).write_bytes(gzip.compress(data) if name.lower().endswith("gz") else zstd(data))
    assert read_table(tmp_path / name).rows() == ROWS


@pytest.mark.parametrize("name", ["v.csv", "UPPER.CSV", "v.tsv", "v.jsonl", "v.ndjson", "v.parquet", "v.pq", "V.Arrow"])
def test_what_is_written_is_read_back_equal(tmp_path, name):
    write_table(FRAME, tmp_path / name)
    assert read_table(tmp_path / name).rows() == ROWS
    assert Table.open(str(tmp_path / name)).columns == FRAME.columns


@pytest.mark.parametrize("name", ["v.csv.gz", "v.tsv.zst", "v.jsonl.gz", "v.jsonl.zst", "v.feather", "v.ipc"])
def test_compressed_results_and_arrow_files_are_read_back_equal(tmp_path, name):
    write_table(FRAME.lazy(), tmp_path / name)
    assert read_table(tmp_path / name).rows() == ROWS


def test_arrow_files_of_other_writers_are_read(tmp_path):
    arrow = FRAME.to_arrow()
    pyarrow.feather.write_feather(arrow, tmp_path / "lz4.feather")
    with pa.OSFile(str(tmp_path / "stream.arrow"), "wb") as out, pa.ipc.new_stream(out, arrow.schema) as writer:
        writer.write_table(arrow)
    assert read_table(tmp_path / "lz4.feather").rows() == ROWS
    assert read_table(tmp_path / "stream.arrow").rows() == ROWS


@pytest.mark.parametrize("make", [lambda f: f, lambda f: f.lazy(), lambda f: f.to_pandas(), lambda f: f.to_arrow()])
def test_frames_are_tables(make):
    assert read_table(make(FRAME)).rows() == ROWS


def test_dataset_of_hugging_face_is_a_table():
    datasets = pytest.importorskip("datasets", reason="the package datasets is not installed")
    data = datasets.Dataset.from_dict(FRAME.to_dict(as_series=False))
    assert read_table(data).rows() == ROWS
    assert read_table(data.select([2, 0])).rows() == [ROWS[2], ROWS[0]]
    with pytest.raises(VotesError, match="for a DatasetDict, name one split"):
        read_table(datasets.DatasetDict(train=data))


@pytest.mark.parametrize("source", [3, None, [[0, 1]], np.zeros((2, 2))])
def test_what_is_not_a_table_is_refused(source):
    with pytest.raises(VotesError, match=r"^the table is of type .*; expected a path, a frame of Polars, pandas"):
        read_table(source)


def test_frame_with_two_columns_of_one_name_is_refused():
    with pytest.raises(
        VotesError, match=r"^the frame has two columns named 'a', number 1 and 2; expected each name once"
    ):
        read_table(pd.DataFrame([[1, 2]], columns=["a", "a"]))


@pytest.mark.parametrize(
    "options",
    [
        {"data_page_version": "2.0", "compression": "gzip", "write_page_index": True},
        {"use_dictionary": False, "compression": "none", "write_page_checksum": True},
        {"data_page_size": 1, "row_group_size": 2, "version": "1.0"},
    ],
)
def test_parquet_files_of_other_writers_are_read(tmp_path, options):
    frame = pl.DataFrame({"list": [[1, 2], [3], []], "struct": [{"a": 1}, {"a": None}, None], "text": ["ä", None, "b"]})
    pyarrow.parquet.write_table(frame.to_arrow(), tmp_path / "v.parquet", **options)
    assert read_table(tmp_path / "v.parquet").equals(frame)


def test_arrow_stream_that_is_cut_off_is_refused(tmp_path):
    table = pa.table({"a": list(range(1000))})
    with pa.OSFile(str(tmp_path / "s.arrow"), "wb") as out, pa.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table)
    whole = (tmp_path / "s.arrow").read_bytes()
    (tmp_path / "s.arrow").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(VotesError, match=r"s\.arrow' cannot be read: .*Is it a complete Arrow file\?"):
        read_table(tmp_path / "s.arrow")


# Reading: which file.


def test_name_that_exists_is_that_file_and_not_a_pattern(tmp_path):
    for name, cell in (("votes[1]", "right"), ("votes1", "wrong")):
        for ending in (".csv", ".jsonl", ".parquet", ".arrow"):
            write_table(pl.DataFrame({"a": [cell]}), tmp_path / (name + ending))
    for ending in (".csv", ".jsonl", ".parquet", ".arrow"):
        assert read_table(tmp_path / f"votes[1]{ending}").rows() == [("right",)]
    write_table(pl.DataFrame({"a": ["star"]}), tmp_path / "w*.csv")
    write_table(pl.DataFrame({"a": ["other"]}), tmp_path / "w1.csv")
    assert read_table(tmp_path / "w*.csv").rows() == [("star",)]


def test_pattern_reads_its_files_in_order(tmp_path):
    for part in (2, 10, 1):
        write_table(pl.DataFrame({"a": [str(part)]}), tmp_path / f"v{part}.csv")
    assert read_table(tmp_path / "v*.csv").rows() == [("1",), ("10",), ("2",)]
    with pytest.raises(VotesError, match=r"^no file matches '.*w\*\.csv'; check the pattern"):
        read_table(tmp_path / "w*.csv")


def test_pattern_over_files_that_do_not_fit_is_refused(tmp_path):
    write_table(pl.DataFrame({"a": ["1"]}), tmp_path / "v1.csv")
    write_table(pl.DataFrame({"b": ["1"]}), tmp_path / "v2.csv")
    with pytest.raises(VotesError, match=r"v\*\.csv' cannot be read"):
        read_table(tmp_path / "v*.csv")
    write_table(pl.DataFrame({"b": ["1"]}), tmp_path / "v3.parquet")
    with pytest.raises(VotesError, match=r"holds 'v1\.csv' and 'v3\.parquet', which are of two formats"):
        read_table(tmp_path)


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".arrow", ".parquet"])
@pytest.mark.parametrize("other", [{"b": ["x"], "c": ["y"]}, {"a": ["x"]}, {"a": ["x"], "b": ["y"], "c": ["z"]}])
def test_folder_of_tables_with_other_columns_is_refused_before_they_are_read(tmp_path, ending, other):
    write_table(pl.DataFrame({"a": ["x"], "b": ["y"]}), tmp_path / f"1{ending}")
    write_table(pl.DataFrame(other), tmp_path / f"2{ending}")
    with pytest.raises(VotesError, match=r"in table [12] of it, column [abc] is missing; in another, it is String"):
        Table.open(tmp_path)


@pytest.mark.parametrize("name", ["a", "*", "^.*$"])  # the last two are patterns to Polars
@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".arrow", ".parquet"])
def test_tables_of_a_folder_may_have_their_columns_in_another_order_or_empty(tmp_path, ending, name):
    write_table(pl.DataFrame({name: [None], "b": ["y"]}), tmp_path / f"1{ending}")
    write_table(pl.DataFrame({"b": ["z"], name: ["x"]}), tmp_path / f"2{ending}")
    found = read_table(tmp_path)
    assert found.rows() == [(None, "y"), ("x", "z")]


@pytest.mark.parametrize("ending", [".jsonl", ".arrow", ".parquet"])
def test_tables_of_a_folder_with_other_types_are_refused(tmp_path, ending):
    write_table(pl.DataFrame({"a": [1]}), tmp_path / f"1{ending}")
    write_table(pl.DataFrame({"a": ["x"]}), tmp_path / f"2{ending}")
    with pytest.raises(VotesError, match=r"in table 2 of it, column a is String; in another, it is Int64. Expected"):
        Table.open(tmp_path)


def test_folder_may_hold_compressed_texts_beside_others(tmp_path):
    for name in ("1.csv", "2.csv.gz", "3.tsv.zst"):
        write_table(pl.DataFrame({"id": [name], "a": ["x"]}), tmp_path / name)
    assert read_table(tmp_path)["id"].to_list() == ["1.csv", "2.csv.gz", "3.tsv.zst"]


def test_folder_may_hold_links_to_other_folders(tmp_path):
    folder, other = make_folder(tmp_path / "folder"), make_folder(tmp_path / "other")
    write_table(FRAME, folder / "1.parquet")
    write_table(FRAME, other / "2.parquet")
    (folder / "linked").symlink_to(other)
    assert read_table(folder).rows() == ROWS + ROWS
    (other / "circle").symlink_to(folder)
    with pytest.raises(VotesError, match=r"has the link '.*circle' to a folder that it is in; remove it"):
        read_table(folder)


@pytest.mark.parametrize("others", [0, 40])  # of few keys, only lines that may have one twice are parsed
def test_json_lines_with_a_key_twice_are_refused(tmp_path, others):
    more = "".join(f', "k{j}": 1' for j in range(others))
    path = tmp_path / "v.jsonl"
    path.write_text(f'{{"id": 1, "a": "a", "b": "\\"a\\""{more}}}\n\n')
    assert read_table(path).rows() == [(1, "a", '"a"', *[1] * others)]
    path.write_text(f'{{"id": 1, "a": "x"}}\n{{"id": 2, "a": "x"{more}, "a": "y"}}\n')
    with pytest.raises(VotesError, match=r"v\.jsonl' has the key 'a' twice in line 2; expected each key once"):
        read_table(path)


def test_large_numbers_of_json_lines_stay_whole(tmp_path):
    path = tmp_path / "v.jsonl"
    path.write_text(f'{{"id": {2**64 - 1}, "far": {-(2**70)}}}\n{{"id": 2}}\n')
    found = read_table(path)
    assert found.rows() == [(2**64 - 1, str(-(2**70))), (2, None)]
    assert found.schema["id"] == pl.UInt64


def test_numbers_that_parquet_does_not_have_are_refused_where_parquet_is_needed(tmp_path):
    table = Table.open(pl.DataFrame({"id": [2**70]}, schema={"id": pl.Int128}))
    with pytest.raises(VotesError, match=r"has the column 'id' of type Int128, which only Polars reads"):
        table.parquet_files()


def write_hive(folder, ending=".parquet"):
    for day, region in (("007", "a%20b"), ("08", "__HIVE_DEFAULT_PARTITION__")):
        place = folder / f"day={day}" / f"region={region}"
        place.mkdir(parents=True)
        write_table(pl.DataFrame({"id": [day], "lf": ["spam"]}), place / f"p{ending}")
    return folder


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".arrow"])
def test_hive_folder_has_its_folders_as_columns_of_text(tmp_path, ending):
    table = Table.open(write_hive(tmp_path / "run=3" / "hive", ending))
    assert table.hive == ("day", "region")
    assert table.collect().rows() == [("007", "spam", "007", "a b"), ("08", "spam", "08", None)]
    assert table.columns == ["id", "lf", "day", "region"]


def test_hive_columns_come_from_below_the_folder_or_the_fixed_part_of_a_pattern(tmp_path):
    folder = write_hive(tmp_path)
    assert Table.open(folder / "day=007").hive == ("region",)
    assert Table.open(folder / "day=*" / "*" / "*.parquet").hive == ("day", "region")
    assert Table.open(folder / "day=007" / "region=a%20b" / "p.parquet").hive == ()


def test_hive_column_that_the_files_have_themselves_stays_theirs(tmp_path):
    (tmp_path / "id=9").mkdir()
    write_table(pl.DataFrame({"id": [1]}), tmp_path / "id=9" / "p.parquet")
    table = Table.open(tmp_path)
    assert (table.hive, table.collect().rows()) == ((), [(1,)])


def test_folder_with_mixed_partitions_is_refused(tmp_path):
    folder = write_hive(tmp_path)
    write_table(pl.DataFrame({"id": ["x"], "lf": ["spam"]}), folder / "p.parquet")
    with pytest.raises(VotesError, match=r"give day, region, those of '.*p\.parquet' give others"):
        read_table(folder)


def test_folder_leaves_out_hidden_files_and_what_a_killed_run_left(tmp_path):
    write_table(FRAME, tmp_path / "v.parquet")
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / ".v.parquet.crc").write_bytes(b"x")
    (tmp_path / ".v.parquet.abcd1234.part").mkdir()
    (tmp_path / ".v.parquet.abcd1234.part" / "p.parquet").write_bytes(b"PAR1 half")
    assert read_table(tmp_path).rows() == ROWS
    with pytest.raises(VotesError, match="is a folder without tables"):
        read_table(make_folder(tmp_path / "empty"))


def make_folder(path):
    path.mkdir()
    return path


@pytest.mark.parametrize("name", ["d.duckdb", "d.duckdb::votes", "d.duckdb::SELECT * FROM votes", "d.db::from votes"])
def test_duckdb_file_is_a_table(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    frame = FRAME
    with duckdb.connect(name.partition("::")[0]) as base:
        base.execute("CREATE TABLE votes AS SELECT * FROM frame")
    assert read_table(name).rows() == ROWS
    assert len(frame) == 4  # DuckDB finds the frame by its name


def test_duckdb_file_keeps_types_and_names_its_tables(tmp_path):
    path = tmp_path / "d.duckdb"
    with duckdb.connect(str(path)) as base:
        base.execute("CREATE TYPE mood AS ENUM ('ham', 'spam')")
        base.execute(
            "CREATE TABLE a AS SELECT 'ham'::mood AS lf, 12345678901234567890::HUGEINT AS id, 1.10::DECIMAL(4, 2) d"
        )
        base.execute('CREATE TABLE "b ""x" AS SELECT 1 AS lf')
    assert read_table(f"{path}::a").select(pl.all().cast(pl.String)).rows() == [("ham", "12345678901234567890", "1.10")]
    assert read_table(f'{path}::b "x').rows() == [(1,)]
    with pytest.raises(VotesError, match=r"d\.duckdb' has the tables a, b \"x; name one: '.*d\.duckdb::table'"):
        read_table(path)
    with pytest.raises(VotesError, match=r"has no table 'c'; its tables are a, b \"x\. A query starts with SELECT"):
        read_table(f"{path}::c")
    with pytest.raises(VotesError, match=r"cannot be read: Catalog Error: Table with name nowhere does not exist"):
        read_table(f"{path}::select * from nowhere")
    with pytest.raises(VotesError, match=r"names nothing after ::; expected a table or a SELECT"):
        read_table(f"{path}::")
    write_table(FRAME, tmp_path / "v.csv")
    with pytest.raises(VotesError, match=r"names a part of '.*v\.csv', which is not a DuckDB file"):
        read_table(f"{tmp_path}/v.csv::a")


def test_duckdb_tables_of_other_schemas_are_named_with_them(tmp_path):
    one, two = tmp_path / "one.duckdb", tmp_path / "two.duckdb"
    for path, schemas in ((one, ["s"]), (two, ["main", "s", 't "x'])):
        with duckdb.connect(str(path)) as base:
            for schema in schemas:
                quoted = schema.replace('"', '""')
                base.execute(f'CREATE SCHEMA IF NOT EXISTS "{quoted}"')
                base.execute(f'CREATE TABLE "{quoted}".votes AS SELECT $${schema}$$ AS lf')
    assert read_table(one).rows() == read_table(f"{one}::s.votes").rows() == [("s",)]
    assert read_table(f"{two}::votes").rows() == [("main",)]
    assert read_table(f'{two}::t "x.votes').rows() == [('t "x',)]
    with pytest.raises(VotesError, match=r"has no table 'u\.votes'; its tables are s\.votes, t \"x\.votes, votes\."):
        read_table(f"{two}::u.votes")


@pytest.mark.parametrize("kind", ["INTERVAL 1 DAY", "[INTERVAL 1 DAY]", "union_value(n := 1)"])
def test_duckdb_type_that_tables_do_not_have_is_refused_by_name(tmp_path, capfd, kind):
    path = tmp_path / "d.duckdb"
    with duckdb.connect(str(path)) as base:
        base.execute(f"CREATE TABLE a AS SELECT 1 AS lf, {kind} AS took")
    with pytest.raises(VotesError, match=r"has the column 'took' of type .*cast it to VARCHAR, with a SELECT"):
        read_table(path)
    assert read_table(f"{path}::SELECT lf FROM a").rows() == [(1,)]
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("SELECT *, 2 AS a FROM t", "has two columns named 'a'"),
        ("SELECT a FROM t; SELECT 1 AS b", "cannot be read: it has several statements after ::; expected one"),
    ],
)
def test_duckdb_query_that_is_not_one_table_is_refused(tmp_path, capfd, query, reason):
    with duckdb.connect(str(tmp_path / "d.duckdb")) as connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS a")
    with pytest.raises(VotesError, match=reason):
        Table.open(f"{tmp_path / 'd.duckdb'}::{query}")
    assert read_table(f"{tmp_path / 'd.duckdb'}::SELECT a FROM t;").rows() == [(1,)]
    assert capfd.readouterr().err == ""


def test_duckdb_that_is_interrupted_is_an_interrupt():
    with pytest.raises(KeyboardInterrupt), reading("d.duckdb", "DuckDB"):
        raise RuntimeError("Query interrupted")


def test_duckdb_query_cannot_change_the_file(tmp_path):
    path = tmp_path / "d.duckdb"
    with duckdb.connect(str(path)) as base:
        base.execute("CREATE TABLE a AS SELECT 1 AS lf")
    with pytest.raises(VotesError, match="has no table 'DROP TABLE a'"):
        read_table(f"{path}::DROP TABLE a")
    with pytest.raises(VotesError, match="cannot be read"):
        read_table(f"{path}::SELECT 1; DROP TABLE a")
    assert read_table(path).rows() == [(1,)]


def encode(kind):
    if kind in ("csv", "csv.gz", "csv.zst"):
        data = FRAME.write_csv(separator=";").encode()
        return {"csv": data, "csv.gz": gzip.compress(data), "csv.zst": zstd(data)}[kind]
    if kind == "jsonl":
        return FRAME.write_ndjson().encode()
    sink = pa.BufferOutputStream()
    if kind == "parquet":
        pyarrow.parquet.write_table(FRAME.to_arrow(), sink)
    else:
        pyarrow.feather.write_feather(FRAME.to_arrow(), sink)
    return sink.getvalue().to_pybytes()


KINDS = ["csv", "csv.gz", "csv.zst", "jsonl", "parquet", "arrow"]
READER = "import sys, json\nfrom hyperlabel.data import Table\nt = Table.open(sys.argv[1])\n" + (
    "print(json.dumps([t.collect().rows(), t.lazy().collect().rows()]))"
)


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/null"])
def test_device_that_is_no_terminal_is_refused(device):
    with pytest.raises(VotesError, match=f"'{device}' is a device; expected a file, a folder, a pipe, or -"):
        read_table(device)


@pytest.mark.parametrize("name", ["-", "/dev/stdin", "/dev/fd/0"])
@pytest.mark.parametrize("kind", KINDS)
def test_standard_input_of_any_format_is_read_once_and_kept(kind, name):
    done = subprocess.run([sys.executable, "-c", READER, name], input=encode(kind), capture_output=True, check=True)
    assert json.loads(done.stdout) == [[list(row) for row in ROWS]] * 2


@pytest.mark.parametrize("name", ["-", "/dev/stdin", "/dev/fd/0"])
def test_file_behind_standard_input_is_read_whatever_its_name(tmp_path, name):
    (tmp_path / "votes").write_bytes(encode("csv.gz"))
    with (tmp_path / "votes").open("rb") as file:
        done = subprocess.run([sys.executable, "-c", READER, name], stdin=file, capture_output=True, check=True)
    assert json.loads(done.stdout) == [[list(row) for row in ROWS]] * 2


@pytest.mark.parametrize("kind", KINDS)
def test_pipe_is_read_to_its_end(tmp_path, kind):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=[encode(kind)])
    writer.start()
    assert read_table(pipe).rows() == ROWS
    writer.join()


def test_process_substitution_is_read(tmp_path):
    write_csv(tmp_path / "v.csv")
    command = f"{sys.executable} -c '{READER}' <(cat {tmp_path}/v.csv)"
    done = subprocess.run(["bash", "-c", command], capture_output=True, check=True)
    assert json.loads(done.stdout) == [[list(row) for row in ROWS]] * 2


def test_temporary_files_go_with_the_process(tmp_path):
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", READER, "-"], input=encode("csv.gz"), env=environment, check=True)
    assert list(tmp_path.iterdir()) == []


# Reading: odd content.


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "arrow"])
@pytest.mark.parametrize("name", ["~/v", "file:v", "file:/v", "s3:/v", "\udcff"])
def test_start_of_a_name_that_exists_has_no_other_meaning(tmp_path, monkeypatch, name, kind):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for folder in ("home", "~", "file:", "s3:"):
        Path(folder).mkdir()
    write_table(pl.DataFrame({"a": ["wrong"]}), tmp_path / "home" / f"v.{kind}")
    write_table(FRAME, f"right.{kind}")
    Path(f"right.{kind}").rename(f"{name}.{kind}")
    assert read_table(f"{name}.{kind}").columns == FRAME.columns


def test_result_in_a_folder_that_is_called_tilde_is_written_there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("~").mkdir()
    write_table(FRAME, "~/o.csv")
    assert [path.name for path in (tmp_path / "~").iterdir()] == ["o.csv"]


def test_categories_of_many_batches_are_one_arrow_file(tmp_path):
    names = pl.Series([f"c{i // 50_000}" for i in range(200_000)], dtype=pl.Categorical)
    frame = pl.concat([pl.DataFrame({"c": part}) for part in (names[:70_000], names[70_000:])], rechunk=False)
    write_table(frame, tmp_path / "o.arrow")
    assert pl.read_ipc(tmp_path / "o.arrow")["c"].cast(pl.String).equals(names.cast(pl.String))


@pytest.mark.parametrize(
    "values",
    [
        pa.array([(1, 2, 3)], pa.month_day_nano_interval()),
        pa.array([[None]], pa.list_(pa.decimal256(60, 1))),
        pa.array([[1]], pa.list_view(pa.int32())),
        pa.RunEndEncodedArray.from_arrays([1], ["a"]),
        pa.UnionArray.from_sparse(pa.array([0], pa.int8()), [pa.array([1])]),
    ],
    ids=["interval", "wide decimals", "list view", "runs", "union"],
)
@pytest.mark.parametrize("open_writer", [pa.ipc.new_file, pa.ipc.new_stream])
def test_arrow_type_that_tables_do_not_have_is_refused_by_name(tmp_path, capfd, values, open_writer):
    table = pa.table({"odd": values})
    with open_writer(tmp_path / "v.arrow", table.schema) as writer:
        writer.write_table(table)
    with pytest.raises(VotesError, match="column 'odd' is of type .*, which tables do not have; cast it"):
        Table.open(tmp_path / "v.arrow")
    assert capfd.readouterr().err == ""


def test_bytes_are_no_json(tmp_path, capfd):
    with pytest.raises(ParameterError, match="column 'b' holds bytes, which JSON does not have; write parquet"):
        write_table(pl.DataFrame({"b": [b"x"]}), tmp_path / "o.jsonl")
    assert capfd.readouterr().err == ""


def test_result_whose_name_is_not_utf8_is_refused(tmp_path):
    with pytest.raises(
        ParameterError,
        match=r"out is '.*\\udcff\.csv', but this path is not UTF-8, so no library can write it; choose another",
    ):
        write_table(FRAME, tmp_path / "\udcff.csv")


def test_names_of_very_many_columns_are_compared_quickly(tmp_path):
    names = [f"lf_{j}" for j in range(60_000)]
    (tmp_path / "v.csv").write_text(f"{','.join(names[:10_000])}\n")  # as many as a csv may have
    before = time.process_time()
    assert Table.open(tmp_path / "v.csv").columns == names[:10_000]
    with pytest.raises(VotesError, match="the frame has two columns named 'lf_59999'"):
        read_table(pd.DataFrame(np.zeros((1, 60_001)), columns=[*names, names[-1]]))
    assert time.process_time() - before < 10  # a minute if each name is compared with all before it


def test_csv_with_two_columns_of_one_name_is_refused(tmp_path):
    (tmp_path / "v.csv").write_text("id,id,a\n1,2,3\n")
    with pytest.raises(VotesError, match=r"v\.csv' has two columns named 'id', number 1 and 2; .*Rename one"):
        read_table(tmp_path / "v.csv")


@pytest.mark.parametrize("content", ["id,a\n", "id,a", '"id","a"\n', "id;a\n\n\n"])
def test_csv_without_rows_is_an_empty_table(tmp_path, content):
    (tmp_path / "v.csv").write_text(content)
    frame = read_table(tmp_path / "v.csv")
    assert (frame.columns, len(frame)) == (["id", "a"], 0)


@pytest.mark.parametrize("name", ["e.csv", "e.parquet", "e.arrow", "e.csv.gz"])
def test_empty_table_is_written_and_read_back(tmp_path, name):
    write_table(FRAME.clear(), tmp_path / name)
    frame = read_table(tmp_path / name)
    assert (frame.columns, len(frame)) == (FRAME.columns, 0)


def test_json_lines_without_rows_have_no_columns(tmp_path):
    (tmp_path / "v.jsonl").touch()
    assert read_table(tmp_path / "v.jsonl").shape == (0, 0)


@pytest.mark.parametrize("blank", ["\n", "\r\n\r\n", "\n\n\n"])
def test_blank_lines_at_the_end_of_a_csv_are_no_rows(tmp_path, blank):
    (tmp_path / "v.csv").write_bytes(f"id,a\r\n1,x\r\n2,y\r\n{blank}".encode())
    assert read_table(tmp_path / "v.csv").rows() == [("1", "x"), ("2", "y")]


def test_csv_of_one_column_keeps_blank_lines_as_rows(tmp_path):
    write_table(pl.DataFrame({"a": ["x", None, "y", None]}), tmp_path / "v.csv")
    assert read_table(tmp_path / "v.csv").rows() == [("x",), (None,), ("y",), (None,)]


@pytest.mark.parametrize(
    ("content", "separator"),
    [
        ("id;text\n1;a, b\n2;c\n", ";"),
        ("id,price\n1,2;3\n2,4\n", ","),
        ('"a;b",c\n1,2\n', ","),
        ("id|a|b\n1|x,y|z\n", "|"),
        ("id,a,b\n1,x\n", ","),  # a file that was cut off is not another separator's
        ("only\nx\n", ","),
    ],
)
def test_separator_is_the_one_that_all_first_lines_share(tmp_path, content, separator):
    (tmp_path / "v.csv").write_text(content)
    try:
        columns = read_table(tmp_path / "v.csv").columns
    except VotesError as error:
        assert "line 2 has 2 fields, the header has 3" in str(error)  # noqa: PT017
    else:
        assert columns == pl.read_csv(content.encode(), separator=separator).columns


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize(
    "rows",
    [
        [('5" pipe', "1"), ("x", "0"), ('6" pipe', "1"), ("y", "")],
        [("a", '5" pipe'), ('"\n"', "b"), ('""""', "c")],
        [(' "x"', "y"), ('a "b" c', '"d, ""e"""'), ("", '""')],
    ],
)
def test_quotes_within_cells_that_are_not_quoted_are_letters(tmp_path, rows, end):
    for header in ('a"', "b"), ("a", "b"):
        text = end.join(map(",".join, [header, *rows])) + end
        (tmp_path / "v.csv").write_text(text, newline="")
        frame = read_table(tmp_path / "v.csv")
        assert frame.columns == list(header)
        assert [tuple(cell or "" for cell in row) for row in frame.rows()] == [
            tuple(row) for row in csv.reader(io.StringIO(text, newline=""))
        ][1:]
    assert frame.null_count().sum_horizontal().item() == sum(cell == "" for row in rows for cell in row)


def test_quoted_cells_across_blocks_are_read_and_a_short_line_after_them_is_named(tmp_path):
    text = 'a, "quoted"\nword, ä ' * 9
    frame = pl.DataFrame({"id": [str(i) for i in range(20_000)], "text": [text[: i % 200] for i in range(20_000)]})
    frame.write_csv(tmp_path / "v.csv", quote_style="always")
    assert read_table(tmp_path / "v.csv").equals(frame)
    with (tmp_path / "v.csv").open("a") as file:
        file.write('"short"\n')
    number = (tmp_path / "v.csv").read_text().count("\n")
    with pytest.raises(VotesError, match=f"line {number} has 1 fields, the header has 2"):
        Table.open(tmp_path / "v.csv")


@pytest.mark.parametrize("content", ["a,b\n1\n2,3,4\n", "a,b\n1\n2,3,4", '"a",b\n1\n2,3,4\n', "a,b\n0,1,2\n0,1\n\n"])
def test_line_that_is_too_long_does_not_hide_one_that_is_too_short(tmp_path, content):
    (tmp_path / "v.csv").write_text(content)
    with pytest.raises(VotesError, match=r"line 2 has [13] fields, the header has 2"):
        Table.open(tmp_path / "v.csv")


def test_mark_of_utf8_is_no_part_of_a_name_if_the_encoding_is_named(tmp_path):
    (tmp_path / "v.csv").write_bytes(b'\xef\xbb\xbf"id",a\n1,x\n')
    assert read_table(tmp_path / "v.csv", encoding="UTF8").columns == ["id", "a"]


def test_other_separators_can_be_named(tmp_path):
    (tmp_path / "v.csv").write_text("id:a\n1:x\n")
    assert read_table(tmp_path / "v.csv", delimiter=":").rows() == [("1", "x")]
    for wrong in ("", "::", '"', "ä"):
        with pytest.raises(ParameterError, match="^delimiter is .*; expected one character"):
            read_table(tmp_path / "v.csv", delimiter=wrong)
    with pytest.raises(ParameterError, match="^encoding is 'utf-99', which is unknown; try"):
        read_table(tmp_path / "v.csv", encoding="utf-99")


BAD = {
    "short.csv": (b"a,b\n0,1\n1\n", "line 3 has 1 fields, the header has 2"),
    "long.csv": (b"a,b\n0,1\n0,1,2\n", "line 3 has 3 fields, the header has 2"),
    "open.csv": (b'a,b\n0,"1\n1,0\n', "unexpected end of data"),
    "mac.csv": (b"a,b\r0,1\r", "its lines end in carriage returns only; convert them"),
    "return.csv": (b"a,b\n0\r,1\n1,0\n", "line 2 ends in a carriage return only; remove it, or quote its cell"),
    "returns.csv": (b"a,b\r0,1\n1,0\n", "line 1 ends in a carriage return only"),
    "empty.csv": (b"", "empty CSV"),
    "cut.csv.gz": (gzip.compress(b"a,b\n0,1\n" * 1000, mtime=0)[:-20], "end-of-stream"),
    "no.csv.gz": (b"a,b\n", "Not a gzipped file"),
    "no.csv.zst": (b"a,b\n", "ZSTD|zstd|frame|descriptor"),
    "half.jsonl": (b'{"a": 1}\n{"a": \n', "Syntax"),
    "list.jsonl": (b"[1, 2]\n", "expected to contain JSON object"),
    "deep.jsonl": (b'{"a": ' + b"[" * 5000 + b"]" * 5000 + b"}\n", "DepthLimitExceeded"),
    "no.parquet": (b"PAR1 in name only", "parquet: "),
    "no.arrow": (b"ARROW1 in name only", "Not an Arrow file"),
    "no.duckdb": (b"\0" * 8 + b"DUCK" + b"\0" * 100, "."),
}


@pytest.mark.parametrize(("name", "content", "reason"), [(name, *rest) for name, rest in BAD.items()])
def test_damaged_table_gives_one_error(tmp_path, name, content, reason):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(
        VotesError, match=rf"^'.*{name}' cannot be read: .*({reason}).*\. Is it a complete \w+( lines)? file\?$"
    ):
        read_table(tmp_path / name)


def test_json_lines_keep_large_numbers_and_missing_keys(tmp_path):
    (tmp_path / "v.jsonl").write_text('\ufeff{"id": 12345678901234567890, "a": "x"}\n{"id": 1, "b": true}\n')
    frame = read_table(tmp_path / "v.jsonl")
    assert frame.rows() == [(12345678901234567890, "x", None), (1, None, True)]


def test_missing_and_foreign_files_are_refused(tmp_path):
    with pytest.raises(VotesError, match=r"^there is no file or folder '.*v\.csv'; check the path"):
        read_table(tmp_path / "v.csv")
    (tmp_path / "v.xlsx").touch()
    with pytest.raises(VotesError, match=r"^'.*v\.xlsx' ends in '\.xlsx'; expected one of \.csv, .*\.parquet"):
        read_table(tmp_path / "v.xlsx")


# Names on a terminal.


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain ä 漢字 👩‍💻", "plain ä 漢字 👩‍💻"),
        ("\x1b[31mred", r"\x1b[31mred"),
        ("a\nb\tc\x07", r"a\nb\tc\x07"),
        ("user\u202egnp.exe", r"user\u202egnp.exe"),
        ("\x9b2J\ud800", r"\x9b2J\ud800"),
        ("\u2028\ufeff\U000e0041", r"\u2028\ufeff\U000e0041"),
    ],
)
def test_names_are_shown_and_not_obeyed(text, shown):
    assert printable(text) == shown


def test_errors_show_the_escapes_of_foreign_names(tmp_path):
    (tmp_path / "v.csv").write_text("\x1b[2J,\x1b[2J\n1,2\n")
    with pytest.raises(VotesError, match=r"two columns named '\\x1b\[2J'"):
        read_table(tmp_path / "v.csv")


# Writing.


def test_cells_pass_through_a_csv_unchanged(tmp_path):
    content = 'id,x,y\n007,1.10,TRUE\n12345678901234567890,1e5,""\n+1,,"a,b"\n'
    (tmp_path / "v.csv").write_text(content)
    write_table(Table.open(tmp_path / "v.csv").lazy(), tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text() == content


def test_enums_and_categories_pass_through_parquet_and_arrow(tmp_path):
    frame = pl.DataFrame(
        {"e": pl.Series(["a"], dtype=pl.Enum(["b", "a"])), "d": pl.Series(["1.10"]).cast(pl.Decimal(10, 2))}
    )
    write_table(frame, tmp_path / "v.parquet")
    assert read_table(tmp_path / "v.parquet").schema == frame.schema
    write_table(frame, tmp_path / "v.arrow")
    assert read_table(tmp_path / "v.arrow").cast(pl.String).rows() == [("a", "1.10")]


@pytest.mark.parametrize("name", ["v.parquet", "v.arrow"])
def test_metadata_of_the_input_survives_beside_ours(tmp_path, name):
    own = {"owner": "ä", "pandas": json.dumps({"x": 1})}
    arrow = FRAME.to_arrow().replace_schema_metadata(own)
    if name.endswith("parquet"):
        pyarrow.parquet.write_table(arrow, tmp_path / name)
    else:
        pyarrow.feather.write_feather(arrow, tmp_path / name)
    table = Table.open(tmp_path / name)
    assert table.metadata == own
    write_table(table.lazy(), tmp_path / f"out.{name}", metadata={**table.metadata, "hyperlabel": "{}"})
    assert Table.open(tmp_path / f"out.{name}").metadata == {**own, "hyperlabel": "{}"}
    read = pyarrow.parquet.read_table if name.endswith("parquet") else pyarrow.feather.read_table
    assert read(tmp_path / f"out.{name}").schema.metadata[b"owner"] == "ä".encode()


def test_metadata_goes_with_types_that_arrow_does_not_have(tmp_path):
    frame = pl.DataFrame({"id": pl.Series([2**100], dtype=pl.Int128)})
    write_table(frame, tmp_path / "v.parquet", metadata={"a": "b"})
    table = Table.open(tmp_path / "v.parquet")
    assert (table.metadata, table.collect().rows()) == ({"a": "b"}, [(2**100,)])


def test_index_of_pandas_survives(tmp_path):
    frame = pd.DataFrame({"lf": ["x", "y"]}, index=pd.Index(["p", "q"], name="key"))
    frame.to_parquet(tmp_path / "v.parquet")
    table = Table.open(tmp_path / "v.parquet")
    write_table(table.lazy().with_columns(label=pl.lit("z")), tmp_path / "out.parquet", metadata=table.metadata)
    read = pd.read_parquet(tmp_path / "out.parquet")
    assert read.index.tolist() == ["p", "q"]
    assert read["label"].tolist() == ["z", "z"]


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("out.xlsx", r"^out is '.*out\.xlsx'; expected a name that ends in \.csv"),
        ("no/out.csv", r"^out is '.*out\.csv', but there is no folder '.*no'; make it first"),
        ("folder.csv", r"^out is '.*folder\.csv', which is a folder; expected the name of a file"),
        ("out.parquet.gz", r"expected a name that ends in \.csv"),
    ],
)
def test_target_that_cannot_be_written_is_refused(tmp_path, target, message):
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(ParameterError, match=message):
        write_table(FRAME, tmp_path / target)
    with pytest.raises(ParameterError, match=message.replace("out is", "--out is")):
        check_target(tmp_path / target, "--out")


def test_nested_column_on_standard_output_is_refused_before_the_header(capfdbinary):
    with pytest.raises(ParameterError, match=r"^standard output is csv, but CSV .* nested data; name a parquet file"):
        write_stdout(pl.DataFrame({"a": [1], "vector": [[0.5]]}))
    assert capfdbinary.readouterr().out == b""


def test_nested_column_in_a_csv_is_refused_and_leaves_the_old_file(tmp_path):
    (tmp_path / "v.csv").write_text("old")
    with pytest.raises(ParameterError, match=r"cannot be written: CSV format does not support nested data"):
        write_table(pl.DataFrame({"a": [[1, 2]]}), tmp_path / "v.csv")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("v.csv", "old")]


def test_damage_that_shows_while_writing_is_one_error(tmp_path):
    pl.DataFrame({"a": range(100_000)}).write_parquet(tmp_path / "v.parquet", compression="gzip")
    data = bytearray((tmp_path / "v.parquet").read_bytes())
    data[400:800] = b"\xff" * 400  # within the first page, where no header tells
    (tmp_path / "v.parquet").write_bytes(data)
    with pytest.raises(ParameterError, match=r"out is '.*out\.csv', but it cannot be written: "):
        write_table(Table.open(tmp_path / "v.parquet").lazy(), tmp_path / "out.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["v.parquet"]


@pytest.mark.parametrize("name_of_other", ["thesis.tex", ".git", "_notes"])
def test_folder_that_holds_other_things_is_no_place_for_a_result(tmp_path, name_of_other):
    (tmp_path / "out").mkdir()
    for name in ("part.parquet", "_SUCCESS", ".part.parquet.crc"):
        (tmp_path / "out" / name).touch()
    check_folder_target(tmp_path / "out")
    (tmp_path / "out" / name_of_other).touch()
    with pytest.raises(ParameterError, match="a folder that holds more than parquet files; expected another name"):
        check_folder_target(tmp_path / "out")


def test_foreign_failures_of_a_writer_become_one_error(tmp_path):
    def write(part):
        raise RuntimeError("the cluster is gone\nand more")

    with pytest.raises(ParameterError, match=r"^out is '.*x', but it cannot be written: the cluster is gone$"):
        write_whole(tmp_path / "x", write, (RuntimeError,))
    with pytest.raises(RuntimeError, match="cluster"):
        write_whole(tmp_path / "x", write)


# Writing: faults.

ROWS_OUT = 400_000
LIMITED = f"""
import resource, signal, sys, polars as pl
from hyperlabel.data import write_table
from hyperlabel.errors import ParameterError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 18, 1 << 18))
frame = pl.LazyFrame({{"id": range({ROWS_OUT})}}).with_columns(t=pl.col("id").hash().cast(pl.String))
try:
    write_table(frame, sys.argv[1])
except ParameterError as error:
    print(error)
    sys.exit(2)
"""


@pytest.mark.parametrize("name", ["v.csv", "v.csv.gz", "v.jsonl", "v.parquet", "v.arrow"])
def test_full_disk_is_one_error_and_leaves_the_old_file(tmp_path, name):
    (tmp_path / name).write_text("old")
    done = subprocess.run([sys.executable, "-c", LIMITED, tmp_path / name], capture_output=True, text=True)
    assert done.returncode == 2, done.stderr
    assert "but it cannot be written: " in done.stdout
    assert "File too large" in done.stdout
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [(name, "old")]


STREAM = f"""
import sys, polars as pl
from hyperlabel.data import write_table
from hyperlabel.errors import ParameterError
try:
    write_table(pl.LazyFrame({{"id": range({ROWS_OUT})}}), "-")
except ParameterError as error:
    print(error, file=sys.stderr)
    sys.exit(2)
"""


def test_full_device_behind_standard_output_is_one_error():
    with open("/dev/full", "wb") as full:
        done = subprocess.run([sys.executable, "-c", STREAM], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2
    assert done.stderr == ("standard output was cut short: No space left on device; some of its rows are missing\n")


def test_reader_that_goes_away_is_one_error():
    run = subprocess.Popen([sys.executable, "-c", STREAM], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert run.stdout is not None
    assert run.stderr is not None
    assert run.stdout.readline() == "id\n"
    run.stdout.close()
    assert run.wait() == 2
    assert run.stderr.read() == "standard output was cut short: Broken pipe; some of its rows are missing\n"
    run.stderr.close()


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_standard_output_has_every_row_however_slowly_it_is_read(unbuffered):
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    run = subprocess.Popen([sys.executable, "-c", STREAM], stdout=subprocess.PIPE, env=environment)
    assert run.stdout is not None
    os.set_blocking(run.stdout.fileno(), True)
    seen = []
    while block := os.read(run.stdout.fileno(), 100_000):
        seen.append(block)
        time.sleep(0.001)
    run.stdout.close()
    assert run.wait() == 0
    assert b"".join(seen).split() == [b"id", *(str(i).encode() for i in range(ROWS_OUT))]


def waiting_bytes(pipe):
    count = array.array("i", [0])
    fcntl.ioctl(pipe, termios.FIONREAD, count)
    return count[0]


def test_output_that_is_not_blocking_is_waited_for():
    script = f"import os; os.set_blocking(1, False)\n{STREAM}"
    run = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
    assert run.stdout is not None
    while waiting_bytes(run.stdout) < 60_000 and run.poll() is None:  # until the pipe of 64 KB is almost full
        time.sleep(0.001)
    assert run.stdout.read().count(b"\n") == ROWS_OUT + 1
    run.stdout.close()
    assert run.wait() == 0


def test_standard_output_of_a_notebook_or_test_takes_rows_as_well(capsysbinary):
    write_stdout(FRAME)
    assert capsysbinary.readouterr().out == FRAME.write_csv().encode()


WRITER = """
import sys, polars as pl
from hyperlabel.data import write_table
frame = pl.LazyFrame({"id": range(8_000_000)}).with_columns(t=pl.col("id").hash().cast(pl.String))
print("begin", flush=True)
write_table(frame, sys.argv[1])
"""


@pytest.mark.parametrize(
    ("name", "size"), [("v.parquet", 0), ("v.parquet", 1 << 20), ("v.csv", 1), ("v.arrow", 1 << 20)]
)
def test_killed_run_leaves_the_old_file_and_the_next_run_sweeps_its_part(tmp_path, name, size):
    target = tmp_path / name
    write_table(FRAME, target)
    run = subprocess.Popen([sys.executable, "-c", WRITER, target], stdout=subprocess.PIPE, text=True)
    assert run.stdout is not None
    assert run.stdout.readline() == "begin\n"
    while run.poll() is None and not any(part.stat().st_size >= size for part in tmp_path.glob(".*.part/new")):
        time.sleep(0.001)
    run.kill()
    run.wait()
    run.stdout.close()
    assert len(read_table(target)) in (len(FRAME), 8_000_000)
    assert {path for path in tmp_path.rglob(f"*{target.suffix}")} == {target}
    write_table(FRAME, target)
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("name", ["v.parquet", "v.csv"])
def test_interrupted_run_leaves_the_old_file_and_nothing_else(tmp_path, name):
    target = tmp_path / name
    write_table(FRAME, target)
    run = subprocess.Popen(
        [sys.executable, "-c", WRITER, target], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert run.stdout is not None
    assert run.stdout.readline() == "begin\n"
    while len(list(tmp_path.iterdir())) < 2 and run.poll() is None:
        time.sleep(0.001)
    run.send_signal(signal.SIGINT)
    assert run.wait() != 0
    run.stdout.close()
    assert read_table(target).rows() == ROWS
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_result_keeps_the_mode_and_the_link(tmp_path):
    real, link = tmp_path / "data" / "real.csv", tmp_path / "link.csv"
    real.parent.mkdir()
    write_table(FRAME, real)
    real.chmod(0o600)
    link.symlink_to(Path("data") / "real.csv")
    write_table(FRAME.head(1), link)
    assert link.is_symlink()
    assert real.stat().st_mode & 0o777 == 0o600
    assert len(read_table(real)) == 1


def test_quotes_in_the_names_of_a_csv_are_those_of_the_table(tmp_path):
    (tmp_path / "v.csv").write_text('"q""q",b\n1,0\n')
    frame = read_table(tmp_path / "v.csv")
    assert frame.columns == ['q"q', "b"]
    write_table(frame, tmp_path / "w.csv")
    assert (tmp_path / "w.csv").read_text() == '"q""q",b\n1,0\n'
