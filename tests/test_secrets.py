"""What is secret in options, texts and statements is not shown."""

import pytest

from cepsql.base.secrets import is_secret, redact, secret_values, without_secret_options
from cepsql.catalog.create_text import shown_option
from cepsql.catalog.references import writes_secret


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("url=jdbc:x?user=me&password=hunter2&ssl=1", "url=jdbc:x?user=me&password=***&ssl=1"),
        ('{"kafka.ssl.key.password": "a b", "topic": "t"}', '{"kafka.ssl.key.password": ***, "topic": "t"}'),
        ("cannot log in with s3cr3t at s3cr3ts", "cannot log in with *** at s3cr3ts"),
        ("sent Authorization: Bearer eyJhbGciOiJI.e30.x-_/+=, got 401", "sent Authorization: Bearer ***, got 401"),
        ("{'Authorization': 'Basic dXNlcjpwYXNz'}", "{'Authorization': 'Basic ***'}"),
        ("a bearer token is missing; basic authentication", "a bearer token is missing; basic authentication"),
        ("GET https://me:hunter2@h:8080/x failed", "GET https://me:***@h:8080/x failed"),
        ("http://h:8080/x?a=b@c is down", "http://h:8080/x?a=b@c is down"),
        (
            "key -----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc=\n-----END RSA PRIVATE KEY----- is wrong",
            "key -----BEGIN RSA PRIVATE KEY-----***-----END RSA PRIVATE KEY----- is wrong",
        ),
        ("-----BEGIN PRIVATE KEY-----\nMIIE", "-----BEGIN PRIVATE KEY-----***"),
    ],
)
def test_in_texts(text, shown):
    assert redact(text, ["s3cr3t"]) == shown


@pytest.mark.parametrize(
    ("statement", "shown"),
    [
        ("OPTIONS (user 'me', password 'a''b', x '1')", "OPTIONS (user 'me', password '****', x '1')"),
        ("OPTIONS (`kafka.ssl.key.password` 'x\ny')", "OPTIONS (`kafka.ssl.key.password` '*\n*')"),
        ("SET fs.s3a.secret.key = 'abc'", "SET fs.s3a.secret.key = '***'"),
        ("SET fs.s3a.secret.key = abc; SELECT 1", "SET fs.s3a.secret.key = ***; SELECT 1"),
        ("OPTIONS (password = 'abc', table='t')", "OPTIONS (password = '***', table='t')"),
        ("""OPTIONS (password="abc", url "a://u:pw@h/d")""", """OPTIONS (password="***", url "************")"""),
        (r"OPTIONS (password 'a\'bc', x 'y')", "OPTIONS (password '*****', x 'y')"),
        ("OPTIONS (x 'y', password 'abc", "OPTIONS (x 'y', password '***"),
        ("SELECT a FROM t WHERE key = 'abc'", "SELECT a FROM t WHERE key = 'abc'"),
        ("OPTIONS (url 'a://u:pw@h/d', y 'b')", "OPTIONS (url '************', y 'b')"),
        ("OPTIONS ('header.X-Place' 'abc', 'header.Authorization' 'Bearer ${T}')", None),
        ("OPTIONS (url 'http://h/services/T0/hunter2secret')", f"OPTIONS (url '{'*' * 34}')"),
        ("OPTIONS (url 'http://h/alerts', y 'b')", "OPTIONS (url 'http://h/alerts', y 'b')"),
        ("SELECT 'a', token = 5 OR b = 'c'", "SELECT 'a', token = 5 OR b = 'c'"),
        ("SELECT 'password' AS a, key FROM t", "SELECT 'password' AS a, key FROM t"),
    ],
)
def test_in_statements(statement, shown):
    hidden = without_secret_options(statement)
    assert hidden == shown if shown is not None else "'***'" in hidden and "'***********'" in hidden


def test_in_a_login():
    login = 'PlainLoginModule required username="me" password="hunter2";'
    assert secret_values([("kafka.sasl.jaas.config", login), ("subscribe", "t")]) == [login, "hunter2"]


@pytest.mark.parametrize(
    ("url", "values"),
    [
        ("jdbc:mysql://h/d?user=u&pwd=hunter2&ssl=1", ["hunter2"]),
        ("postgresql://u:hunter2/y@h/d", ["hunter2/y"]),
        ("jdbc:oracle:thin:scott/hunter2@h:1/d", ["hunter2"]),
        ("jdbc:postgresql://h:5432/d?user=me@corp", []),
    ],
)
def test_in_addresses(url, values):
    assert secret_values([("url", url)]) == values


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("password", "x"),
        ("pwd", "x"),
        ("sslpassphrase", "x"),
        ("url", "postgresql://u:hunter2secret@h/d"),
        ("url", "postgresql://u:hunter2secret/y@127.0.0.1:1/d"),
        ("url", "postgresql://u:12/hunter2@h/d"),
        ("url", "postgresql://u:hunter2@${HOST}/d"),
        ("url", "jdbc:mysql://h/d?user=u&pwd=hunter2secret"),
        ("url", "jdbc:mysql://u:hunter2/secret@h/d"),
        ("url", "jdbc:sqlserver://h;databaseName=d;user=u;Pwd=hunter2secret"),
        ("url", "jdbc:oracle:thin:scott/hunter2secret@h:1/d"),
        ("url", "jdbc:oracle:oci:scott/hunter2secret@//h:1/d"),
        ("url", "snowflake://h/?user=u&private_key_file_pwd=hunter2"),
        ("url", "http://h/services/T000/hunter2secret"),
        ("url", "https://h/webhooks/0f8fad5b-d9cb-469f-a165-70867728950e"),
        ("url", "https://${HOST}/services/hunter2secret"),
        ("url", "https://h/hook?sig=Zx8Qp1Lm3Kt9"),
        ("header.X-Api", "hunter2secret"),
        ("header.X-Api", "swordfish"),
        ("header.X-Place", "hunter2secret"),
        ("header.Authorization", "Bearer x"),
    ],
)
def test_what_a_catalog_does_not_keep(name, value):
    assert writes_secret(name, value)
    assert shown_option(name, value) == "*****"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("password", "${PW}"),
        ("url", "postgresql://u:${PW}@h:5432/d"),
        ("url", "postgresql://u@h:5432/d"),
        ("url", "jdbc:postgresql://h:5432/d?user=me@corp&ssl=1"),
        ("url", "jdbc:mysql://h1:3306,h2:3306/d?user=me@corp"),
        ("url", "jdbc:sqlserver://h;databaseName=d;user=u;Pwd=${PW}"),
        ("url", "jdbc:oracle:thin:scott/${PW}@h:1/d"),
        ("url", "jdbc:oracle:thin:/@h:1/d"),
        ("url", "jdbc:oracle:thin:@//h:1521/d"),
        ("url", "https://example.org/alerts"),
        ("url", "https://example.org:8443/api/v2/alerts-2026-prod?place=eu-central-1&to=@all"),
        ("url", "https://h/services/${HOOK}"),
        ("path", "hdfs://namenode:8020/user/@me/0f8fad5bd9cb469f"),
        ("endpoint", "https://login.example/0f8fad5b-d9cb-469f-a165-70867728950e/oauth2"),
    ],
)
def test_what_is_kept_and_shown(name, value):
    assert not writes_secret(name, value)
    assert shown_option(name, value) == value


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("header.Content-Type", "application/vnd.cepsql20260101+json"),
        ("header.X-Place", "plant 7, north"),
        ("header.X-Author", "me"),
    ],
)
def test_what_is_kept_and_not_shown(name, value):
    assert not writes_secret(name, value)
    assert shown_option(name, value) == "*****"


@pytest.mark.parametrize("name", ["password", "kafka.sasl.jaas.SECRET", "apiKey", "auth_token"])
def test_of_options(name):
    assert is_secret(name)
    assert not is_secret("path")
