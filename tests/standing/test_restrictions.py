"""What a restricted engine refuses, where it is defined and where it is started."""

import os

import pytest

from cepsql import connect
from cepsql.analysis.ddl.allowed_places import is_allowed_address, is_allowed_path
from cepsql.analysis.ddl.restrictions import Restrictions
from cepsql.catalog import ColumnDefinition, RegisteredQuery, Sink, Source, View
from cepsql.engine.owned_start import start_owned
from cepsql.errors import Error, ProgrammingError
from cepsql.frontends.server.serve_options import parser, restrictions


@pytest.fixture
def root(tmp_path):
    """A folder that is allowed, beside one that is not, with a link from one to the other."""
    (tmp_path / "in").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "secret.csv").write_text("1\n")
    (tmp_path / "in" / "link").symlink_to(tmp_path / "out")
    return tmp_path


@pytest.fixture
def restricted(root):
    allowed = Restrictions(
        (str(root / "in"), "s3a://bucket/in", "https://hooks.example.org/alerts", "postgresql://db:5432/shop"),
        (str(root / "secrets"),),
        frozenset({"ALLOWED", "LOGIN"}),
        frozenset({"alerts:send"}),
    )
    with connect(catalog=str(root / "catalog.db"), restrictions=allowed) as engine:
        yield engine


PATHS = (
    "{root}/out", "{root}/in/../out", "{root}/in/link", "{root}/in/link/secret.csv", "{root}/inside", "{root}",
    "file:{root}/out", "file://{root}/out", "file://elsewhere{root}/in", "FILE:{root}/in", "FILE:/etc/passwd",
    "/etc/passwd", "{root}/in/*/../../out", "{root}/in/{{a,../../out}}", "{root}/in/[a]", "{root}/in/%2e%2e/out",
    "{root}/in/\\..", "//{root}/in", "in", "~/in", "s3a://bucket/inside", "s3a://bucket2/in", "s3a://u@bucket/in",
    "s3://bucket/in", "S3A://bucket/../in", "s3a://bucket/in/../out", "hdfs://h/in", "local:/etc", "", " {root}/in",
    "{root}/in/link/*.csv", "{root}/in/lin?", "{root}/in/*/secret.csv", "{root}/in/\x00", "s3a://[/in",
)  # fmt: skip


@pytest.mark.parametrize("path", PATHS)
def test_a_path_out_of_the_allowed_places(restricted, root, path):
    assert not is_allowed_path(path.format(root=root), restricted.restrictions.places)


@pytest.mark.parametrize(
    "path",
    [
        "{root}/in",
        "{root}/in/a/b.csv",
        "file:{root}/in/*.csv",
        "file://{root}/in/x",
        "s3a://bucket/in/x",
        "{root}/in/ö",
    ],
)
def test_a_path_in_an_allowed_place(restricted, root, path):
    assert is_allowed_path(path.format(root=root), restricted.restrictions.places)


@pytest.mark.parametrize(
    "url",
    [
        "https://hooks.example.org/alerts2", "https://hooks.example.org.evil.org/alerts", "http://hooks.example.org/alerts",
        "https://hooks.example.org@evil.org/alerts", "https://u:p@hooks.example.org/alerts",
        "https://hooks.example.org/alerts/../admin", "https://hooks.example.org/alerts/%2e%2e/admin",
        "https://hooks.example.org:8443/alerts", "https://evil.org/#https://hooks.example.org/alerts",
        "https://evil.org\\@hooks.example.org/alerts", "postgresql://db:5432/other", "postgresql://db/shop",
        "postgresql://db:5432,evil:5432/shop", "postgresql://db:5432/shop?host=evil", "postgresql://db:5432/shop?passfile=/x",
        "postgresql://u@evil@db:5432/shop", "sqlite:////etc/x", "file:///etc/passwd",
    ],
)  # fmt: skip
def test_an_address_out_of_the_allowed_places(restricted, url):
    assert not is_allowed_address(url, restricted.restrictions.places)


def test_an_address_in_an_allowed_place(restricted):
    for url in ("https://hooks.example.org/alerts/1?x=2", "postgresql+psycopg://u:p@db:5432/shop?sslmode=require"):
        assert is_allowed_address(url, restricted.restrictions.places)


REFUSAL = r"not allowed|no place that is allowed|may not read"
COLUMNS = "(k STRING, ts TIMESTAMP, WATERMARK FOR ts AS ts)"
KAFKA = "USING kafka OPTIONS (kafka.bootstrap.servers 'h:9092', subscribe 't'"

REFUSED = (
    f"CREATE STREAM x {COLUMNS} USING csv OPTIONS (path '{{root}}/out')",
    f"CREATE STREAM x {COLUMNS} USING csv OPTIONS (path '{{root}}/in', basePath '{{root}}/out')",
    f"CREATE STREAM x {COLUMNS} USING csv OPTIONS (path '{{root}}/in', cleanSource 'archive', sourceArchiveDir '/x')",
    f"CREATE STREAM x {COLUMNS} USING csv OPTIONS (paths '[\"/etc/passwd\"]')",
    f"CREATE STREAM x {COLUMNS} USING csv OPTIONS (path '${{{{HOME}}}}')",
    f"CREATE STREAM x {COLUMNS} USING csv OPTIONS (path '${{{{file:/etc/passwd}}}}')",
    f"CREATE STREAM x {COLUMNS} USING csv OPTIONS (path '${{{{file:{{root}}/secrets/../out/secret.csv}}}}')",
    f"CREATE STREAM x {COLUMNS} USING csv OPTIONS (path '{{root}}/in') LATE ROWS INTO y USING json OPTIONS (path '/y')",
    f"CREATE STREAM x {COLUMNS} {KAFKA}, kafka.ssl.truststore.location '/etc/passwd') FORMAT json",
    f"CREATE STREAM x {COLUMNS} {KAFKA}, kafka.interceptor.classes 'a.B') FORMAT json",
    f"CREATE STREAM x {COLUMNS} {KAFKA}, kafka.plugin.library.paths '/tmp/x.so') FORMAT json",
    f"CREATE STREAM x {COLUMNS} {KAFKA}, kafka.sasl.jaas.config 'com.example.JndiLoginModule required;') FORMAT json",
    "CREATE TABLE x (k STRING) USING jdbc OPTIONS (url 'jdbc:h2:mem:x;INIT=RUNSCRIPT FROM ''x''', dbtable 't')",
    "CREATE TABLE x (k STRING) USING `org.example.Evil` OPTIONS (path '{root}/in')",
    "CREATE TABLE x (k STRING) USING socket OPTIONS (host 'h', port '1')",
    "CREATE TABLE x USING csv OPTIONS (path '{root}/out')",
    "CREATE STREAM x USING csv OPTIONS (path '{root}/in/link')",
    "CREATE STREAM x (WATERMARK FOR at AS at) USING csv OPTIONS (path '${{HOME}}')",
    "CREATE STREAM x (k STRING)",
    "SELECT * FROM '{root}/out/secret.csv'",
    "SELECT * FROM '{root}/in/link/secret.csv'",
    "SELECT * FROM '{root}/in/../out/secret.csv'",
    "SELECT * FROM '{root}/in/lin?/*.csv'",
    "SELECT * FROM s JOIN read_csv('{root}/out/secret.csv', header => false) AS t ON true",
    "SELECT * FROM read_text('/etc/passwd')",
    "SELECT * FROM read_text('${{file:/etc/passwd}}')",
    "SELECT * FROM read_csv('{root}/in', basePath => '{root}/out')",
    "SELECT * FROM '/etc/passwd' MATCH_RECOGNIZE (ORDER BY value PATTERN (A) DEFINE A AS true)",
    "SELECT (SELECT max(value) FROM 'file:/etc/passwd') AS x",
    "SUMMARIZE '{root}/out/secret.csv'",
    "SUMMARIZE SELECT reflect('java.lang.System', 'getenv', 'HOME') AS h",
    "INSERT INTO s SELECT value, NULL FROM read_text('/etc/passwd')",
    "CREATE TABLE x (k STRING, l STRING AS (java_method('a', 'b', 'c'))) USING csv OPTIONS (path '{root}/in')",
    "CREATE TABLE x (k STRING, l STRING AS ((SELECT max(value) FROM t))) USING csv OPTIONS (path '{root}/in')",
    "CREATE SINK x (k STRING) USING csv OPTIONS (path '{root}/in/link/x')",
    "CREATE SINK x (k STRING) USING sqlite OPTIONS (path '{root}/catalog.db')",
    "CREATE SINK x (k STRING) USING sqlite OPTIONS (url 'sqlite:////etc/x')",
    "CREATE SINK x (k STRING) USING python OPTIONS (function 'os:system')",
    "CREATE SINK x (k STRING) USING webhook OPTIONS (url 'https://evil.org/')",
    "CREATE SINK x (k STRING) USING webhook OPTIONS (url 'https://hooks.example.org/alerts', 'header.X' '${{HOME}}')",
    "CREATE SINK x (k STRING) USING postgresql OPTIONS (url 'postgresql://evil/shop', table 't')",
    "CREATE SINK x (k STRING) USING delta OPTIONS (path '/etc/x')",
    "CREATE VIEW x AS SELECT reflect('java.lang.System', 'getenv', 'HOME') AS h FROM s",
    "CREATE VIEW x AS SELECT k FROM (SELECT *, Try_Reflect('java.lang.Runtime', 'x') AS h FROM s) WHERE h > ''",
    "CREATE QUERY x OPTIONS (checkpoint '{root}/out/c') AS SELECT k FROM s",
    "CREATE QUERY x OPTIONS (spark.sql.warehouse.dir '/etc') AS SELECT k FROM s",
    "CREATE QUERY x AS SELECT k FROM s WHERE k = (SELECT max(`java_method`('java.lang.System', 'getenv', 'HOME')))",
    "SELECT k FROM s MATCH_RECOGNIZE (ORDER BY ts MEASURES A.k AS k PATTERN (A B) DEFINE B AS REFLECT ('a', 'b') > '')",
    "SELECT builtin.reflect /* /* */ x */ ('java.lang.System', 'getenv', 'HOME') FROM s",
    "SELECT 1 AS a FROM s -- x\rWHERE reflect('a', 'b') > ''",
    "SELECT * FROM text.`/etc/passwd`",
    "SELECT * FROM IDENTIFIER('text.`/etc/passwd`')",
    "SET spark.sql.warehouse.dir = '/etc'",
    "SET spark.jars = '/tmp/x.jar'",
    "SET spark.hadoop.fs.s3a.endpoint = 'http://evil'",
)


@pytest.mark.parametrize("sql", REFUSED)
def test_a_statement_is_refused(restricted, root, sql):
    restricted.sql(f"CREATE STREAM s {COLUMNS} USING csv OPTIONS (path '{root}/in')")
    with pytest.raises(ProgrammingError, match=REFUSAL):
        restricted.sql(sql.format(root=root))
    assert restricted.catalog.names.find("x") is None


def test_what_is_allowed_is_done(restricted, root, monkeypatch):
    monkeypatch.setenv("ALLOWED", f"{root}/in/ticks")
    login = "org.apache.kafka.common.security.scram.ScramLoginModule"
    monkeypatch.setenv("LOGIN", f'{login} required username="u" password="p";')
    restricted.sql(
        f"""CREATE STREAM s {COLUMNS} USING json OPTIONS (path '${{ALLOWED}}', maxFilesPerTrigger 5)
        LATE ROWS INTO late USING json OPTIONS (path '{root}/in/late');
        CREATE STREAM k {COLUMNS} {KAFKA}, reader 'spark', kafka.sasl.jaas.config '${{LOGIN}}') FORMAT json;
        CREATE SINK f (k STRING) USING parquet OPTIONS (path '{root}/in/rows');
        CREATE SINK p (k STRING) USING python OPTIONS (function 'alerts:send');
        CREATE SINK w (k STRING) USING webhook OPTIONS (url 'https://hooks.example.org/alerts/1', 'header.X' 'n');
        CREATE VIEW v AS SELECT k, ts FROM s WHERE extract(DAY FROM ts) > 1;
        CREATE QUERY q INTO f OPTIONS (checkpoint '{root}/in/c', spark.sql.shuffle.partitions 2) AS SELECT k FROM v"""
    )
    assert [query.name for query in restricted.catalog.names.queries] == ["q"]


GIVEN = (ColumnDefinition("k", "string"),)


def outside(folder: str) -> list:
    """Definitions, and what reads or starts them, that another process has written to the catalog."""
    read = Source("s", GIVEN, "csv", (("path", f"{folder}/in"),))
    bad = Source("s", GIVEN, "csv", (("path", f"{folder}/in/link"),))
    sink = Sink("o", GIVEN, "csv", (("path", f"{folder}/in/o"),))
    query = RegisteredQuery("q", "o", "SELECT k FROM s", (), ("s",), "1")
    return [
        [bad, sink, query],
        [read, Sink("o", GIVEN, "python", (("function", "os:system"),)), query],
        [read, Sink("o", GIVEN, "csv", (("path", "${HOME}"),)), query],
        [read, sink, RegisteredQuery("q", "o", "SELECT reflect('a', 'b') AS k FROM s", (), ("s",), "1")],
        [
            read,
            sink,
            RegisteredQuery(
                "q", "o", f"SELECT s.k FROM s JOIN '{folder}/out/secret.csv' AS t ON true", (), ("s",), "1"
            ),
        ],
        [read, sink, RegisteredQuery("q", "o", "SELECT k FROM s", (("checkpoint", f"{folder}/out/c"),), ("s",), "1")],
        [read, sink, RegisteredQuery("q", "o", "SELECT k FROM s", (("trigger", "${HOME}"),), ("s",), "1")],
        [
            read,
            View("v", "SELECT java_method('a', 'b') AS k FROM s", GIVEN, True),
            View("w", "SELECT k FROM v", GIVEN, True),
            sink,
            RegisteredQuery("q", "o", "SELECT k FROM (SELECT * FROM w)", (), ("w",), "1"),
        ],
    ]


@pytest.mark.parametrize("number", range(7))
def test_a_start_checks_what_others_wrote(spark, root, number):
    """By a server: the catalog was written by a process without restrictions."""
    location = str(root / "catalog.db")
    with connect(catalog=location) as other:
        for definition in outside(str(root))[number]:
            other.catalog.add(definition)
    allowed = Restrictions((str(root / "in"),))
    with connect(spark, catalog=location, restrictions=allowed) as engine:
        definition = engine.catalog.query("q")
        with pytest.raises(Error, match=REFUSAL):
            start_owned(engine._context, definition, None)
        assert not os.path.exists(root / "out" / "c")


def test_savepoints_lie_in_allowed_places(restricted, root):
    for place in (root / "out", root / "in" / "link", root / "catalog.db.checkpoints" / ".." / "out"):
        with pytest.raises(ProgrammingError, match="no place that is allowed"):
            restricted.home.folder(str(place))
    restricted.home.folder(str(root / "catalog.db.checkpoints" / "q.savepoints" / "a"))


def test_the_options_of_the_server():
    words = ["--restricted", "--allow-place", "/data", "--allow-place", "s3a://b", "--allow-secrets", "/run/secrets",
             "--allow-variable", "A", "--allow-function", "m:f"]  # fmt: skip
    from_options = restrictions(parser().parse_args(words))
    assert from_options == Restrictions(("/data", "s3a://b"), ("/run/secrets",), frozenset({"A"}), frozenset({"m:f"}))
    assert restrictions(parser().parse_args([])) is None
    for wrong in (["--allow-place", "/data"], ["--restricted", "--allow-place", "data"]):
        with pytest.raises(ValueError):
            restrictions(parser().parse_args(wrong))
