"""The automata of a query's row patterns as text for Graphviz (DOT) and Mermaid."""

from collections.abc import Iterator, Sequence

from cepsql.analysis.sql.positions import text_of
from cepsql.errors import NotSupportedError, ProgrammingError
from cepsql.language.statements import MatchClause
from cepsql.pattern.automaton import AutomatonState, AutomatonStep, automaton
from cepsql.pattern.compile import compile_pattern
from cepsql.pattern.ir import dump
from cepsql.pattern.program import MatchProgram
from cepsql.plan.planner import Plan

MAX_STATES = 300
"""How many states a picture may have."""


def picture(plan: Plan, form: str) -> str:
    """Return the automata of a query's patterns as one graph; `form` is "dot" or "mermaid".

    Raises ProgrammingError for a query without a pattern, NotSupportedError for one too large to look at.
    """
    if not plan.matches:
        raise ProgrammingError("the query has no row pattern to draw", plan.query.span)
    graphs = []
    clauses = [clause for match in plan.matches for clause in (match.clause, *match.clause.beside)]
    programs = [program for match in plan.matches for program in match.program.programs]
    for clause, program in zip(clauses, programs, strict=True):
        states = automaton(compile_pattern(program.pattern, program.variables))
        if len(states) > MAX_STATES:
            raise NotSupportedError(
                f"the pattern has {len(states)} states, too many for a picture",
                clause.span,
                f"at most {MAX_STATES} are drawn; counted repetitions and PERMUTE are written out",
            )
        graphs.append((states, _notes(clause, program, plan.text)))
    return "\n".join((_dot if form == "dot" else _mermaid)(graphs))


def dot(states: Sequence[AutomatonState], notes: Sequence[str] = ()) -> str:
    """Return one automaton as a Graphviz graph, with lines of notes."""
    return "\n".join(_dot([(states, notes)]))


def mermaid(states: Sequence[AutomatonState], notes: Sequence[str] = ()) -> str:
    """Return one automaton as a Mermaid flowchart, with lines of notes."""
    return "\n".join(_mermaid([(states, notes)]))


def _notes(clause: MatchClause, program: MatchProgram, sql: str) -> list[str]:
    conditions = {name.text: " ".join(text_of(condition, sql).split()) for name, condition in clause.defines}
    notes = [f"PATTERN ({dump(program.pattern)})"]
    notes += [f"{name}: {conditions.get(name, 'every row')}" for name in program.variables]
    if clause.within is not None:
        notes.append(f"WITHIN {text_of(clause.within, sql)}")
    return notes


def _dot(graphs: Sequence[tuple[Sequence[AutomatonState], Sequence[str]]]) -> Iterator[str]:
    yield "digraph patterns {"
    yield '  rankdir=LR; node [shape=box, style=rounded, fontname="Helvetica"]; edge [fontname="Helvetica"]'
    for number, (states, notes) in enumerate(graphs):
        yield f"  subgraph cluster_{number} {{"
        if notes:
            label = "".join(_dot_text(note) + "\\l" for note in [*notes, *_legend(states)])
            yield f'    labelloc=b; labeljust=l; color=gray; fontname="Helvetica"; label="{label}"'
        for i, state in enumerate(states):
            shape = 'shape=point, width=0.15, label=""' if i == 0 else f'label="{_dot_text(_name(state))}"'
            if i == len(states) - 1:
                shape = 'shape=doublecircle, label=""'
            yield f"    m{number}_s{i} [{shape}]"
        for i, state in enumerate(states):
            for place, step in enumerate(state.steps):
                style = ["style=dashed"] if step.reluctant else []
                if label := _label(place, step, state):
                    style.insert(0, f'label="{_dot_text(label)}"')
                suffix = f" [{', '.join(style)}]" if style else ""
                yield f"    m{number}_s{i} -> m{number}_s{step.target}{suffix}"
        yield "  }"
    yield "}"


def _mermaid(graphs: Sequence[tuple[Sequence[AutomatonState], Sequence[str]]]) -> Iterator[str]:
    yield "flowchart LR"
    for number, (states, notes) in enumerate(graphs):
        if notes:
            label = "<br/>".join(map(_mermaid_text, [*notes, *_legend(states)]))
            yield f'  m{number}_notes["{label}"]'
        for i, state in enumerate(states):
            shape = f'("{_mermaid_text(_name(state))}")'
            if i in (0, len(states) - 1):
                shape = '(("begin"))' if i == 0 else '((("end")))'
            yield f"  m{number}_s{i}{shape}"
        for i, state in enumerate(states):
            for place, step in enumerate(state.steps):
                arrow = "-.->" if step.reluctant else "-->"
                label = _mermaid_text(_label(place, step, state))
                label = f'|"{label}"|' if label else ""
                yield f"  m{number}_s{i} {arrow}{label} m{number}_s{step.target}"


def _name(state: AutomatonState) -> str:
    name = state.variable or ""
    return f"{{- {name} -}}" if state.excluded else name


def _label(place: int, step: AutomatonStep, state: AutomatonState) -> str:
    """Say as which of several ways a step is tried, and what must hold for it."""
    number = str(place + 1) if len(state.steps) > 1 else ""
    return " ".join(filter(None, [number, *sorted(step.anchors)]))


def _legend(states: Sequence[AutomatonState]) -> list[str]:
    said = []
    if any(len(state.steps) > 1 for state in states):
        said.append("numbers: the order in which ways are tried")
    if any(step.reluctant for state in states for step in state.steps):
        said.append("dashed: a reluctant quantifier goes on")
    return said


def _dot_text(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _mermaid_text(text: str) -> str:
    """Escape what Mermaid reads as markup; # begins its entities."""
    entities = {"#": "#35;", '"': "#quot;", "<": "#lt;", ">": "#gt;", "&": "#amp;", "`": "#96;"}
    return "".join(entities.get(character, character) for character in text)
