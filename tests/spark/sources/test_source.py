"""Sources: declared columns, malformed rows, computed columns, paths."""

import pytest

from cepsql.catalog import ColumnDefinition, Source
from cepsql.errors import OperationalError, ProgrammingError
from cepsql.spark.sources.source import observe_source, read_source

COLUMNS = (ColumnDefinition("id", "BIGINT"), ColumnDefinition("ts", "TIMESTAMP"), ColumnDefinition("price", "DOUBLE"))
CSV = "1,2026-01-01 00:00:00,1.5\nx,2026-01-01 00:00:01,2\n3,2026-01-01 00:00:02\n,,\n5,2026-01-01 00:00:04,5\n"
JSON = '{"id":1,"price":1.5}\n{"id":"x","price":2}\nnonsense\n{}\n{"id":5,"price":5}\n'


def source(path, format="csv", columns=COLUMNS, streaming=False, **options):
    return Source("events", columns, format, (("path", str(path)), *options.items()), streaming)


def played(spark, frame):
    """Run a stream over what is there now; return its rows."""
    query = frame.writeStream.format("memory").queryName("played").trigger(availableNow=True).start()
    query.awaitTermination()
    return spark.table("played").collect()


@pytest.mark.parametrize(("format", "text"), [("csv", CSV), ("json", JSON)])
@pytest.mark.parametrize("streaming", [False, True])
def test_malformed_rows_are_marked(spark, tmp_path, format, text, streaming):
    file = tmp_path / "odd [1] name.txt"
    file.write_text(text)
    (tmp_path / "other.txt").write_text(text)
    path = file if streaming else str(file).replace("[", "\\[").replace("]", "\\]")
    frame = read_source(spark, source(path, format, streaming=streaming))
    rows = played(spark, frame) if streaming else frame.collect()
    assert frame.columns == ["id", "ts", "price", "__malformed"]
    malformed = [row["__malformed"] for row in rows]
    assert malformed == ([False, True, True, False, False])
    assert [row["id"] for row in rows if not row["__malformed"]] == [1, None, 5]


def test_only_counting_still_knows_malformed_rows(spark, tmp_path):
    (tmp_path / "a.csv").write_text(CSV)
    frame = read_source(spark, source(tmp_path))
    assert frame.where("NOT __malformed").count() == 3
    observed = observe_source(frame, "events")
    assert observed.columns == ["id", "ts", "price"]
    assert observed.count() == 3


def test_an_explicit_mode_is_kept(spark, tmp_path):
    (tmp_path / "a.csv").write_text(CSV)
    frame = read_source(spark, source(tmp_path, mode="DROPMALFORMED"))
    assert frame.columns == ["id", "ts", "price"]
    assert len(frame.collect()) == 3


def test_computed_columns_read_declared_ones(spark, tmp_path):
    (tmp_path / "a.csv").write_text("2,7\n")
    columns = (
        ColumnDefinition("twice", "STRING", "2 * `a b`"),
        ColumnDefinition("a b", "INT"),
        ColumnDefinition("c", "INT"),
        ColumnDefinition("again", "INT", "twice + c"),
    )
    frame = read_source(spark, source(tmp_path, columns=columns)).drop("__malformed")
    assert [tuple(row) for row in frame.collect()] == [("4", 2, 7, 11)]
    assert [field.dataType.simpleString() for field in frame.schema] == ["string", "int", "int", "int"]


def test_formats_with_a_schema_of_their_own_are_cast(spark):
    columns = (ColumnDefinition("value", "INT"), ColumnDefinition("kind", "STRING", "value % 4"))
    rate = Source("ticks", columns, "rate", (("rowsPerSecond", "1"),))
    assert read_source(spark, rate).schema.simpleString() == "struct<value:int,kind:string>"
    with pytest.raises(ProgrammingError, match="has no column price"):
        read_source(spark, Source("ticks", (ColumnDefinition("price", "DOUBLE"),), "rate"))


@pytest.mark.parametrize("streaming", [False, True])
def test_missing_things_are_named(spark, tmp_path, streaming):
    with pytest.raises(OperationalError, match="nowhere, which does not exist"):
        read_source(spark, source(tmp_path / "nowhere", streaming=streaming))
    options = {"kafka.bootstrap.servers": "h:1", "kafka.ssl.key.password": "hunter2", "subscribe": "hunter2"}
    columns = (ColumnDefinition("value", "STRING"),)
    secret = Source("k", columns, "kafka", tuple((options | {"reader": "spark"}).items()), streaming)
    with pytest.raises(OperationalError, match="k cannot be read: Failed to find data source") as caught:
        read_source(spark, secret)
    assert "spark.jars.packages" in caught.value.hint
    assert "hunter2" not in f"{caught.value} {caught.value.detail}"


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("name", ["in [1]", "{x}", "a*", "back\\slash"])
def test_a_folder_whose_name_is_a_pattern_is_refused(spark, tmp_path, streaming, name):
    (tmp_path / name).mkdir()
    with pytest.raises(OperationalError, match="Spark takes this name for a pattern") as caught:
        read_source(spark, source(tmp_path / name, streaming=streaming))
    assert str(tmp_path / name) in caught.value.message
    # As a pattern it finds what is there under other names.
    (tmp_path / "in1").mkdir()
    (tmp_path / "in1" / "1.csv").write_text("4\n")
    read_source(spark, source(tmp_path / "in[0-9]", streaming=streaming))


def test_columns_that_are_not_declared_are_found(spark, tmp_path):
    (tmp_path / "a.csv").write_text("id,price\n1,2.5\n")
    frame = read_source(spark, source(tmp_path, columns=(), streaming=True, header="true"))
    assert frame.schema.simpleString() == "struct<id:int,price:double,__malformed:boolean>"


@pytest.mark.parametrize(
    ("format", "options", "said"),
    [
        ("parquet", {}, "a.csv is not a Parquet file"),
        ("orc", {}, "a.csv"),
        ("csv", {"header": "maybe"}, "header flag can be true or false"),
        ("csv", {"header": "true", "inferSchema": "tru"}, "inferSchema flag can be true or false"),
    ],
)
def test_files_in_which_spark_finds_no_columns(spark, tmp_path, format, options, said):
    (tmp_path / "a.csv").write_text("id,price\n1,2.5\n")
    with pytest.raises(OperationalError, match=f"events cannot be read: .*{said}"):
        read_source(spark, source(tmp_path, format, columns=(), **options))


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("format", ["csv", "json", "parquet", "text", "xml"])
def test_files_without_a_path(spark, format, streaming):
    for options, hint in (
        ((), "OPTIONS (path '/folder')"),
        ((("pth", "/x"),), "OPTIONS have pth: did you mean path?" if format != "xml" else None),
    ):
        with pytest.raises(ProgrammingError, match="events does not say where its files are") as raised:
            read_source(spark, Source("events", COLUMNS, format, options, streaming))
        assert hint in (None, raised.value.hint)


@pytest.mark.parametrize("streaming", [False, True])
def test_a_misspelt_format(spark, tmp_path, streaming):
    with pytest.raises(OperationalError, match=r"events cannot be read: .*data source") as raised:
        read_source(spark, source(tmp_path, "cvs", streaming=streaming))
    assert raised.value.hint.startswith("did you mean USING csv?")


def test_a_database_is_read_through_jdbc(spark):
    with pytest.raises(OperationalError, match="postgresql") as caught:
        read_source(spark, Source("t", (), "postgresql", (("url", "postgresql://h/d"),), streaming=False))
    assert "USING jdbc OPTIONS (url 'jdbc:postgresql:" in caught.value.hint
    options = (("url", "jdbc:nowhere:"), ("dbtable", "t"))
    with pytest.raises(OperationalError, match="t cannot be read: Spark has no JDBC driver for this url") as caught:
        read_source(spark, Source("t", (), "jdbc", options, streaming=False))
    assert "the option driver" in caught.value.hint


def test_what_a_computed_column_may_read_is_told_by_declared_names(spark, tmp_path):
    (tmp_path / "a.csv").write_text("1\n")
    columns = (ColumnDefinition("a", "STRING"), ColumnDefinition("at", "TIMESTAMP", "to_timestamp(b)"))
    with pytest.raises(ProgrammingError, match=r"`b` cannot be resolved. Did you mean .*\[`a`\]$"):
        read_source(spark, source(tmp_path, columns=columns))
