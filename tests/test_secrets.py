"""What is secret in options, texts and statements is not shown."""

import pytest

from cepsql.secrets import is_secret, redact, secret_values, without_secret_options


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("url=jdbc:x?user=me&password=hunter2&ssl=1", "url=jdbc:x?user=me&password=***&ssl=1"),
        ('{"kafka.ssl.key.password": "a b", "topic": "t"}', '{"kafka.ssl.key.password": ***, "topic": "t"}'),
        ("cannot log in with s3cr3t at s3cr3ts", "cannot log in with *** at s3cr3ts"),
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
        ("OPTIONS (url 'a://u:pw@h/d', y 'b')", "OPTIONS (url '************', y 'b')"),
        ("OPTIONS ('header.X-Place' 'abc', 'header.Authorization' 'Bearer ${T}')", None),
        ("SELECT 'a', token = 5 OR b = 'c'", "SELECT 'a', token = 5 OR b = 'c'"),
        ("SELECT 'password' AS a, key FROM t", "SELECT 'password' AS a, key FROM t"),
    ],
)
def test_in_statements(statement, shown):
    found = without_secret_options(statement)
    assert found == shown if shown is not None else "'***'" in found and "'***********'" in found


def test_in_a_login():
    login = 'PlainLoginModule required username="me" password="hunter2";'
    assert secret_values([("kafka.sasl.jaas.config", login), ("subscribe", "t")]) == [login, "hunter2"]


@pytest.mark.parametrize("name", ["password", "kafka.sasl.jaas.SECRET", "apiKey", "auth_token"])
def test_of_options(name):
    assert is_secret(name)
    assert not is_secret("path")
