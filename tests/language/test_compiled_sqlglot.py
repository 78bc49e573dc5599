"""Statements are read and planned the same by sqlglot in Python and by sqlglot compiled, `sqlglot[c]`."""

import subprocess
import sys
from pathlib import Path

import pytest
import sqlglot.parser

TESTS = Path(__file__).parents[1]
READING = (
    "language/test_statements.py",
    "language/test_plain_sql.py",
    "language/test_variant_path.py",
    "analysis/test_plans.py",
    "plan/test_join_plans.py",
    "plan/test_identity.py",
)


@pytest.mark.nightly("it runs a thousand tests again")
def test_sqlglot_in_python_gives_the_same():
    """The other tests run with what is installed."""
    if sqlglot.parser.__file__.endswith(".py"):
        pytest.skip("sqlglot is installed in Python only")
    plugin = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import pytest, python_sqlglot"
    command = f"{plugin}; sys.exit(pytest.main(['-n0', '-q', '-p', 'no:cacheprovider', *sys.argv[1:]]))"
    files = [str(TESTS / name) for name in READING]
    done = subprocess.run([sys.executable, "-c", command, *files], capture_output=True, text=True, cwd=TESTS.parent)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
