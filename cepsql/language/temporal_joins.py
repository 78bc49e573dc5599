"""ASOF JOIN ... MATCH_CONDITION and FOR SYSTEM_TIME AS OF, which sqlglot does not read in Spark's SQL, as calls in ON.

`a ASOF JOIN b MATCH_CONDITION (a.ts >= b.ts) ON a.k = b.k` becomes `a JOIN b ON __AS_OF(a.ts >= b.ts) AND a.k = b.k`.
`JOIN b FOR SYSTEM_TIME AS OF a.ts ON a.k = b.k` becomes `JOIN b ON __VERSION_AT(a.ts) AND a.k = b.k`.
"""

from sqlglot import exp
from sqlglot.tokens import Token, TokenType

from cepsql.errors import ProgrammingError, Span
from cepsql.language.tokens import Text, made_token

AS_OF = "__AS_OF"
"""The call in ON of an ASOF JOIN; its argument compares the two times."""

VERSION_AT = "__VERSION_AT"
"""The call in ON of a join FOR SYSTEM_TIME AS OF; its argument is the time."""

_BOUND = "ASOF JOIN needs MATCH_CONDITION (a.ts >= b.ts) behind the relation that is joined"


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


class _Rewriting:
    """Goes through the tokens once; `waiting` is the call that the next ON begins with."""

    def __init__(self, text: Text, tokens: list[Token]):
        self.text, self.tokens = text, tokens
        self.given: list[Token] = []
        self.at = 0
        self.waiting: list[Token] | None = None
        self.opened: Token | None = None

    def rewritten(self) -> list[Token]:
        while self.at < len(self.tokens):
            token, word = self.tokens[self.at], _word(self.tokens[self.at])
            if word == "ASOF" and "JOIN" in (self._word(1), self._word(2)):
                self._done(token)
                self.opened = token
            elif word == "MATCH_CONDITION" and self.opened is not None and self._word(1) == "(":
                self._match_condition(token)
                continue
            elif word == "FOR" and [self._word(i) for i in (1, 2, 3)] == ["SYSTEM_TIME", "AS", "OF"]:
                self._done(token)
                self._version(token)
                continue
            elif word == "ON" and self.waiting is not None:
                self.given += [token, *self.waiting, made_token(TokenType.AND, "AND", token)]
                self.waiting = None
            else:
                self.given.append(token)
            self.at += 1
        self._done(self.tokens[-1])
        return self.given

    def _word(self, ahead: int) -> str:
        place = self.at + ahead
        return _word(self.tokens[place]) if place < len(self.tokens) else ""

    def _done(self, at: Token) -> None:
        """Raise what a join that ends here lacks."""
        if self.opened is not None:
            raise self._error(_BOUND, self.opened)
        if self.waiting is not None:
            raise self._error("FOR SYSTEM_TIME AS OF needs ON with the key of the relation behind it", at)

    def _match_condition(self, token: Token) -> None:
        """Take the brackets of MATCH_CONDITION; without ON behind them they are the whole condition."""
        begin = self.at + 1
        depth, end = 0, begin
        for end in range(begin, len(self.tokens)):
            depth += {TokenType.L_PAREN: 1, TokenType.R_PAREN: -1}.get(self.tokens[end].token_type, 0)
            if depth == 0:
                break
        call = [made_token(TokenType.VAR, AS_OF, token), *self.tokens[begin : end + 1]]
        self.at, self.opened = end + 1, None
        if self._word(0) == "USING":
            raise self._error("ASOF JOIN takes ON, not USING", self.tokens[self.at], "ON a.k = b.k")
        if self._word(0) == "ON":
            self.waiting = call
        else:
            self.given += [made_token(TokenType.ON, "ON", token), *call]

    def _version(self, token: Token) -> None:
        """Take FOR SYSTEM_TIME AS OF and the name of a column."""
        begin = self.at + 4
        end = begin + 1
        while end + 1 < len(self.tokens) and self.tokens[end].token_type == TokenType.DOT:
            end += 2
        brackets = (made_token(TokenType.L_PAREN, "(", token), made_token(TokenType.R_PAREN, ")", token))
        name = made_token(TokenType.VAR, VERSION_AT, token)
        self.waiting = [name, brackets[0], *self.tokens[begin:end], brackets[1]]
        self.at = end

    def _error(self, message: str, token: Token, hint: str | None = None) -> ProgrammingError:
        return ProgrammingError(message, Span(token.start, token.end + 1), hint, self.text.sql)


def _word(token: Token) -> str:
    quoted = token.token_type in (TokenType.STRING, TokenType.IDENTIFIER)
    return "" if quoted else token.text.upper()
