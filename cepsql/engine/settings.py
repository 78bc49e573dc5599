"""Settings that statements read and change: those of cepsql, and Spark's, which are passed to its session."""

from typing import TYPE_CHECKING

from cepsql.analysis.ddl.restrictions import Restrictions
from cepsql.analysis.ddl.setting_names import OWN, can_be_sparks, setting_hint
from cepsql.base.secrets import is_secret
from cepsql.errors import ProgrammingError, Span
from cepsql.language import statements as st
from cepsql.language.rewriting.double_quotes import NAMES_IN_DOUBLE_QUOTES
from cepsql.pattern.program import STEP_BUDGET, UNDECIDED_ROWS
from cepsql.render.answer import Answer

if TYPE_CHECKING:
    from cepsql.engine.lazy_session import EngineSession

ANSI = "spark.sql.ansi.enabled"
"""Spark's setting that makes 1/0, overflows and casts that fail errors."""

ZONE = "spark.sql.session.timeZone"
"""Spark's setting for the time zone."""

SETTINGS = {
    "cepsql.buckets": "groups that the keys of a pattern are spread over; fixed for the life of a checkpoint",
    "cepsql.expired_rows": "rows that leave a result in one micro-batch because their time is over (WHERE at > NOW() - "
    "...); more follow at once; default 100000",
    "cepsql.one_task": "true: operators over changes run in one task, and Spark plans one stage for all of "
    "them; false: each is spread over tasks by its keys; auto: true with one or two shuffle partitions; a "
    "checkpoint keeps what it was begun with",
    "cepsql.scan": "auto: Arrow reads the files of a stream where it gives the same rows as Spark; spark: Spark does",
    "cepsql.step_budget": f"steps that a pattern may take from one row; default {STEP_BUDGET}",
    "cepsql.strict": "true: on a stream a pattern that takes too many steps, or a skip that leads nowhere, is an error",
    "cepsql.undecided_rows": "rows of one key that may wait on a stream for the end of a match; with more the query "
    f"fails; default {UNDECIDED_ROWS}",
}
"""Settings of cepsql with their meaning; SET passes Spark's settings to Spark."""


class Settings:
    """The settings that SET has changed in an engine, and RESET has not; those of Spark are in its session.

    own: settings of cepsql.
    """

    def __init__(self, session: "EngineSession") -> None:
        self.own: dict[str, str] = {}
        self._session = session
        self._names_quoted: bool | None = None

    @property
    def names_usually_quoted(self) -> bool:
        """Whether double quotes enclose names unless SET says otherwise; Spark also requires ANSI mode."""
        conf, session = self._session.conf, self._session.user_session
        if NAMES_IN_DOUBLE_QUOTES in conf:
            return conf[NAMES_IN_DOUBLE_QUOTES].lower() == "true"
        return session is not None and all(
            str(session.conf.get(key, "false")).lower() == "true" for key in (NAMES_IN_DOUBLE_QUOTES, ANSI)
        )

    @property
    def names_quoted(self) -> bool:
        """Whether double quotes enclose names."""
        return self.names_usually_quoted if self._names_quoted is None else self._names_quoted

    def change(self, statement: st.SetOption, restrictions: Restrictions | None) -> Answer:
        """Execute SET: list the settings, show one or change one. Raises ProgrammingError."""
        key, value = statement.key, statement.value
        if key is None:
            rows = tuple((name, self.own.get(name), meaning) for name, meaning in SETTINGS.items())
            return Answer(("setting", "value", "meaning"), rows)
        name = key.text
        self.check_name(key)
        if value is not None and restrictions is not None:
            restrictions.check_setting(name)
        if name.startswith(OWN):
            check_setting(name, value, key.span)
        if value is None:
            return Answer(("setting", "value"), ((name, _shown(name, self._value(name))),))
        if name in SETTINGS:
            self.own[name] = value
        elif name == NAMES_IN_DOUBLE_QUOTES:
            if value.lower() not in ("true", "false"):
                raise ProgrammingError(f"{name} must be true or false", key.span)
            self._names_quoted = value.lower() == "true"
        else:
            self._change_spark(key, value)
        return Answer(message=f"{name} set")

    def reset(self, key: st.Name | None) -> Answer:
        """Execute RESET of one setting, or of all. Raises ProgrammingError for an unknown setting."""
        if key is None:
            self.own.clear()
            self._names_quoted = None
            for name in self._session.changed:
                self._session.spark.conf.unset(name)
            self._session.changed.clear()
            return Answer(message="settings reset")
        self.check_name(key)
        if key.text in SETTINGS:
            self.own.pop(key.text, None)
        elif key.text == NAMES_IN_DOUBLE_QUOTES:
            self._names_quoted = None
        else:
            self._session.spark.conf.unset(key.text)
            self._session.changed.pop(key.text, None)
        return Answer(message=f"{key.text} reset")

    def check_name(self, key: st.Name) -> None:
        """Raise ProgrammingError for a setting that neither cepsql, nor Spark, nor the user's session has."""
        name, session = key.text, self._session.user_session
        is_users = session is not None and bool(session.conf.get(name, None))
        if name not in SETTINGS and not can_be_sparks(name) and not is_users:
            raise ProgrammingError(f"there is no setting {name}", key.span, setting_hint(name, SETTINGS))

    def _value(self, name: str) -> str | None:
        if name == NAMES_IN_DOUBLE_QUOTES:
            return str(self.names_quoted).lower()
        return self.own.get(name) if name in SETTINGS else self._session.spark.conf.get(name, None)

    def _change_spark(self, key: st.Name, value: str) -> None:
        spark = self._session.spark
        from cepsql.spark.jvm.messages.failures import translate_failure

        try:
            spark.conf.set(key.text, value)
            self._session.changed[key.text] = value
        except Exception as failure:
            error = translate_failure(failure)
            error.span = error.span or key.span
            raise error from None


def check_setting(key: str, value: str | None, span: Span) -> None:
    """Check a setting of cepsql, and its value unless that is None; raises ProgrammingError at `span`."""
    if key not in SETTINGS:
        raise ProgrammingError(f"there is no setting {key}", span, setting_hint(key, SETTINGS))
    if value is None:
        return
    if key == "cepsql.strict":
        if value.lower() not in ("true", "false"):
            raise ProgrammingError(f"{key} must be true or false", span)
    elif key == "cepsql.one_task":
        if value not in ("auto", "true", "false"):
            raise ProgrammingError("cepsql.one_task is auto, true or false", span)
    elif key == "cepsql.scan":
        if value not in ("auto", "spark"):
            raise ProgrammingError("cepsql.scan is auto or spark", span)
    elif not (value.isdigit() and int(value) > 0):
        raise ProgrammingError(f"{key} must be a whole number above zero", span)


def _shown(key: str, value: str | None) -> str | None:
    return "*****" if value is not None and is_secret(key) else value
