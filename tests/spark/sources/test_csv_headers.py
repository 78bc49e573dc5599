"""Headers of CSV files that name declared columns in other places."""

import gzip

import pytest

import cepsql
from cepsql.catalog import ColumnDefinition, Source
from cepsql.spark.sources.watching.csv_headers import CsvHeaders, MisplacedHeader, csv_files

COLUMNS = (
    ColumnDefinition("id", "int"),
    ColumnDefinition("a b", "string"),
    ColumnDefinition("b", "string"),
    ColumnDefinition("c", "string", expression="upper(b)"),
)


def files(folder, format="csv", **options):
    all_options = (("path", str(folder)), ("header", "true"), *options.items())
    return csv_files(Source("s", COLUMNS, format, all_options))


@pytest.mark.parametrize(
    ("header", "misplaced"),
    [
        ("id,a b,b", False),
        ("\ufeffID, A B ,b", False),
        # Other names for the columns, and columns that are missing or more, which are malformed.
        ("x,y,z", False),
        ("id,a b", False),
        ("id,a b,b,x", False),
        ("", False),
        ("id,b,a b", True),
        ('\n"id","b","a b"', True),
        ("x,id,a b,b", True),
        ("x,id", True),
    ],
)
def test_a_header_is_misplaced_if_a_declared_column_stands_elsewhere(tmp_path, header, misplaced):
    (tmp_path / "1.csv").write_text(f"{header}\n1,2,3\n")
    assert bool(list(CsvHeaders([files(tmp_path)]).misplaced_there())) == misplaced


def test_each_kind_of_header_is_told_once(tmp_path):
    for number in range(3):
        (tmp_path / f"{number}.csv").write_text("b;id\n")
    with gzip.open(tmp_path / "4.csv.gz", "wt") as file:
        file.write("a b;id\n")
    headers = CsvHeaders([files(tmp_path, sep=";")])
    paths = [f"{tmp_path}/{name}" for name in ("0.csv", "gone.csv", "1.csv", "4.csv.gz")]
    declared = ("id", "a b", "b")
    assert list(headers.misplaced(["/elsewhere/0.csv", *paths])) == [
        MisplacedHeader(paths[0], ("b", "id"), declared),
        MisplacedHeader(paths[3], ("a b", "id"), declared),
    ]
    assert list(headers.misplaced(paths)) == []


def test_columns_that_folders_name_stand_in_no_file(tmp_path):
    (tmp_path / "id=5").mkdir()
    (tmp_path / "id=5" / "1.csv").write_text("a b,b\n")
    assert list(CsvHeaders([files(tmp_path)]).misplaced_there()) == []


@pytest.mark.parametrize(
    ("format", "options"), [("csv", {"enforceSchema": "false"}), ("csv", {"comment": "#"}), ("json", {})]
)
def test_headers_that_cannot_be_told_are_not_looked_at(tmp_path, format, options):
    assert files(tmp_path, format, **options) is None


def test_a_stream_and_a_table_warn_of_files_with_columns_in_other_places(spark, tmp_path, caplog):
    engine = cepsql.connect(spark)
    engine.sql(f"""
        CREATE OR REPLACE STREAM headed (a STRING, b STRING) USING csv OPTIONS (path '{tmp_path}', header 'true');
        CREATE OR REPLACE TABLE headed_now (a STRING, b STRING) USING csv OPTIONS (path '{tmp_path}', header 'true')
    """)
    (tmp_path / "1.csv").write_text("b,a\n1,2\n")
    said = f"{tmp_path}/1.csv: its header names the columns b, a, and they are read as a, b"
    engine.query("SELECT a FROM headed").start(lambda rows, _: None, drain=True).await_(60)
    assert [message.split(": CSV")[0] for message in caplog.messages] == [said]
    caplog.clear()
    query = engine.query("SELECT a FROM headed_now")
    assert query.collect()[0].a == "1" and query.arrow().num_rows == 1
    assert [message.split(": CSV")[0] for message in caplog.messages] == [said]
