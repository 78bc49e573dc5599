"""ASOF JOIN ... MATCH_CONDITION and FOR SYSTEM_TIME AS OF, which sqlglot does not read in Spark's SQL, as calls in ON.

`a ASOF JOIN b MATCH_CONDITION (a.ts >= b.ts) ON a.k = b.k` becomes `a JOIN b ON __AS_OF(a.ts >= b.ts) AND a.k = b.k`.
`a ASOF JOIN b ON a.k = b.k AND a.ts >= b.ts`, as in DuckDB, becomes `a JOIN b ON __AS_OF() AND a.k = b.k AND ...`.
`JOIN b FOR SYSTEM_TIME AS OF a.ts ON a.k = b.k` becomes `JOIN b ON __VERSION_AT(a.ts) AND a.k = b.k`.
"""

from dataclasses import dataclass

from sqlglot import exp
from sqlglot.tokens import Token, TokenType

from cepsql.errors import ProgrammingError, Span
from cepsql.language.tokens import Text, closing_brackets, made_token

AS_OF = "__AS_OF"
"""The call in ON of an ASOF JOIN; its argument, or without one another condition, compares the two times."""

VERSION_AT = "__VERSION_AT"
"""The call in ON of a join FOR SYSTEM_TIME AS OF; its argument is the time."""

_BOUND = "ASOF JOIN needs MATCH_CONDITION (a.ts >= b.ts), or ON a.ts >= b.ts, behind the relation that is joined"
_USING_HINT = "ON a.k = b.k"


def with_temporal_joins(text: Text, tokens: list[Token]) -> list[Token]:
    """Return the tokens of a query with such joins as plain ones; the same tokens if there are none.

    Raises ProgrammingError for a part that is missing.
    """
    if not any(_word(token) in ("ASOF", "MATCH_CONDITION", "SYSTEM_TIME") for token in tokens):
        return tokens
    return _Rewriting(text, tokens).rewritten()


def temporal_call(condition: exp.Expr) -> str | None:
    """Return AS_OF or VERSION_AT if a condition is that call, None for others."""
    if not isinstance(condition, exp.Anonymous):
        return None
    return next((name for name in (AS_OF, VERSION_AT) if condition.name.upper() == name), None)


@dataclass
class _Level:
    """The join that is being read within a pair of brackets, or outside all.

    opened:  ASOF of a join without MATCH_CONDITION so far.
    joined:  its JOIN has come.
    waiting: the call that the next ON begins with.
    """

    opened: Token | None = None
    joined: bool = False
    waiting: list[Token] | None = None


class _Rewriting:
    """Goes through the tokens once."""

    def __init__(self, text: Text, tokens: list[Token]):
        self.text, self.tokens = text, tokens
        self.output: list[Token] = []
        self.at = 0
        self.levels = [_Level()]

    def rewritten(self) -> list[Token]:
        while self.at < len(self.tokens):
            token, word, level = self.tokens[self.at], _word(self.tokens[self.at]), self.levels[-1]
            if word == "ASOF" and "JOIN" in (self._word(i) for i in (1, 2, 3)):
                self._done(token)
                level.opened, level.joined = token, False
            elif word == "MATCH_CONDITION" and level.opened is not None and self._word(1) == "(":
                self._match_condition(token, level)
                continue
            elif word == "FOR" and [self._word(i) for i in (1, 2, 3)] == ["SYSTEM_TIME", "AS", "OF"]:
                self._done(token)
                self._version(token, level)
                continue
            elif word in ("ON", "USING") and level.opened is not None and level.joined:
                self._on_alone(token, level)
            elif word == "ON" and level.waiting is not None:
                self._on(token, level.waiting)
                level.waiting = None
            else:
                self._plain(token, word)
            self.at += 1
        self._done(self.tokens[-1])
        return self.output

    def _plain(self, token: Token, word: str) -> None:
        """Take a token as it is."""
        if word == "JOIN":
            if self.levels[-1].joined:
                self._done(token)
            self.levels[-1].joined = True
        elif token.token_type == TokenType.L_PAREN:
            self.levels.append(_Level())
        elif token.token_type == TokenType.R_PAREN:
            self._done(token)
            self.levels = self.levels[:-1] or [_Level()]
        self.output.append(token)

    def _word(self, ahead: int) -> str:
        place = self.at + ahead
        return _word(self.tokens[place]) if place < len(self.tokens) else ""

    def _done(self, at: Token) -> None:
        """Raise what a join that ends here lacks."""
        level = self.levels[-1]
        if level.opened is not None:
            raise self._error(_BOUND, level.opened)
        if level.waiting is not None:
            hint = "it stands behind a relation that is joined: JOIN r FOR SYSTEM_TIME AS OF a.ts ON a.k = r.k"
            raise self._error("FOR SYSTEM_TIME AS OF needs ON with the key of the relation behind it", at, hint)

    def _on(self, token: Token, call: list[Token]) -> None:
        self.output += [token, *call, made_token(TokenType.AND, "AND", token)]

    def _on_alone(self, token: Token, level: _Level) -> None:
        """Take ON, among whose conditions is the comparison of the two times."""
        if _word(token) == "USING":
            raise self._error("ASOF JOIN takes ON, not USING", token, _USING_HINT)
        assert level.opened is not None
        self._on(token, [made_token(TokenType.VAR, AS_OF, level.opened), *self._brackets(token)])
        level.opened = None

    def _brackets(self, token: Token) -> tuple[Token, Token]:
        return made_token(TokenType.L_PAREN, "(", token), made_token(TokenType.R_PAREN, ")", token)

    def _match_condition(self, token: Token, level: _Level) -> None:
        """Take the brackets of MATCH_CONDITION; without ON behind them they are the whole condition."""
        begin = self.at + 1
        depth, end = 0, begin
        for end in range(begin, len(self.tokens)):
            depth += {TokenType.L_PAREN: 1, TokenType.R_PAREN: -1}.get(self.tokens[end].token_type, 0)
            if depth == 0:
                break
        call = [made_token(TokenType.VAR, AS_OF, token), *self.tokens[begin : end + 1]]
        self.at, level.opened = end + 1, None
        if self._word(0) == "USING":
            raise self._error("ASOF JOIN takes ON, not USING", self.tokens[self.at], _USING_HINT)
        if self._word(0) == "ON":
            level.waiting = call
        else:
            self.output += [made_token(TokenType.ON, "ON", token), *call]

    def _version(self, token: Token, level: _Level) -> None:
        """Take FOR SYSTEM_TIME AS OF and a time: the name of a column, or a call."""
        begin = self.at + 4
        end = begin + 1
        while end + 1 < len(self.tokens) and self.tokens[end].token_type == TokenType.DOT:
            end += 2
        if end < len(self.tokens) and self.tokens[end].token_type == TokenType.L_PAREN:
            end = closing_brackets(self.tokens).get(end, len(self.tokens) - 1) + 1
        if end < len(self.tokens) and self.tokens[end].token_type in (TokenType.DASH, TokenType.PLUS):
            # A sum is refused later, by an error that shows all of it.
            while end < len(self.tokens) and _word(self.tokens[end]) not in ("AS", "ON"):
                end += 1
        brackets = self._brackets(token)
        name = made_token(TokenType.VAR, VERSION_AT, token)
        level.waiting = [name, brackets[0], *self.tokens[begin:end], brackets[1]]
        self.at = end

    def _error(self, message: str, token: Token, hint: str | None = None) -> ProgrammingError:
        return ProgrammingError(message, Span(token.start, token.end + 1), hint, self.text.sql)


def _word(token: Token) -> str:
    quoted = token.token_type in (TokenType.STRING, TokenType.IDENTIFIER)
    return "" if quoted else token.text.upper()
