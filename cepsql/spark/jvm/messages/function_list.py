"""The functions that SQL has, Spark's and ours, with what is said of each.

Relies on: `PythonSQLUtils.listBuiltinFunctionInfos()` lists the functions that SQL has.
"""

import contextlib
import difflib
import fnmatch
import re
import weakref

import py4j.protocol
from pyspark import SparkContext
from pyspark.sql import SparkSession

from cepsql.errors import NotSupportedError
from cepsql.language.foreign.accepted_functions import FORMS
from cepsql.language.foreign.foreign_functions import INSTEAD
from cepsql.spark.jvm.messages.explanations import PATTERN_FUNCTIONS
from cepsql.spark.jvm.messages.own_functions import OWN_FUNCTIONS

_OWN = "SHOW FUNCTIONS LIKE 'a*' lists them; engine.spark.udf.register('name', function) adds one of Python's"

_USAGE = re.compile(r"\s+")


def functions(spark: SparkSession, like: str | None = None) -> dict[str, str]:
    """Return the built-in functions by name, each with its forms and what it does, in one line.

    like: only those that fit the pattern, in which `*` stands for any text.
    Raises NotSupportedError for a session of Spark Connect.
    """
    if spark not in _FOUND:
        _FOUND[spark] = _built_in()
    usages = _FOUND[spark]
    if like is None:
        return dict(usages)
    return {name: usage for name, usage in usages.items() if fnmatch.fnmatchcase(name, like.lower())}


def known_function(unknown: str) -> str | None:
    """Return the hint for a name that is of no function: which one may be meant, None where that cannot be told."""
    owner, _, last = unknown.rpartition(".")
    if last.upper() in INSTEAD:
        return INSTEAD[last.upper()]
    forms = [form for form, (name, _) in FORMS.items() if name == last.upper()]
    if forms and not owner:
        return f"it is {' or '.join(forms)}"
    if owner:
        return f"a function stands before what it reads: {last}({owner})"
    spelled = {name.lower(): name for name in PATTERN_FUNCTIONS}
    with contextlib.suppress(NotSupportedError, py4j.protocol.Py4JError):
        spelled = {name: name for name in _built_in()} | spelled
    near = difflib.get_close_matches(unknown.lower(), spelled, 1, cutoff=0.7)
    return f"did you mean {spelled[near[0]]}?" if near else _OWN


def _built_in() -> dict[str, str]:
    jvm = SparkContext._jvm
    if jvm is None:
        raise NotSupportedError("SHOW FUNCTIONS needs Spark's Java beside this process, not over Spark Connect")
    own = {name: meaning for name, (_, _, meaning) in OWN_FUNCTIONS.items()}
    infos = jvm.org.apache.spark.sql.api.python.PythonSQLUtils.listBuiltinFunctionInfos()
    usages = {info.getName(): _usage(info.getName(), info.getUsage()) for info in infos} | own
    return {name: usages[name] for name in sorted(usages) if re.fullmatch(r"[a-z_]\w*", name)}


def _usage(name: str, usage: str) -> str:
    return _USAGE.sub(" ", usage.replace("_FUNC_", name)).strip().removesuffix(".")


_FOUND: "weakref.WeakKeyDictionary[SparkSession, dict[str, str]]" = weakref.WeakKeyDictionary()
