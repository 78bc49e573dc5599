"""Execute statements, and check them without execution."""

from cepsql.analysis.ddl.left_out_columns import leaves_out_columns
from cepsql.analysis.ddl.setting_names import OWN
from cepsql.catalog import View
from cepsql.engine.context import NO_FRAMES, Context
from cepsql.engine.insertion import insert, insert_target
from cepsql.engine.questions import describe, print_rows, printed, show, summarize
from cepsql.engine.registered_frames import Frames
from cepsql.engine.relation_definitions import create_source, create_view, rows_of
from cepsql.errors import NotSupportedError, UncheckedError, in_text
from cepsql.language import statements as st
from cepsql.language.rewriting.double_quotes import NAMES_IN_DOUBLE_QUOTES
from cepsql.plan.passes import recorded_steps
from cepsql.plan.planner import plan_query
from cepsql.plan.read_point import check_read_point
from cepsql.plan.refuse import refuse_endless_aggregate
from cepsql.query import Query
from cepsql.render.answer import Answer


def execute(context: Context, statement: st.Statement, frames: Frames = NO_FRAMES) -> Query | Answer:
    """Execute a statement: a query is lazy, anything else acts at once. Raises Error.

    frames: DataFrames that the statement can name.
    """
    match statement:
        case st.ParsedQuery():
            return Query(context, context.plan(statement, frames))
        case st.CreateSource():
            return create_source(context, statement)
        case st.CreateView():
            return create_view(context, statement)
        case st.CreateAs():
            from cepsql.standing.create_as import create_as

            return create_as(context, statement, lambda plan, sink: Query(context, plan).write(sink))
        case st.Prepare():
            return context.prepared.prepare(statement)
        case st.ExecutePrepared():
            sql, inner = context.prepared.bound(statement, context.parsed)
            with in_text(sql):
                return execute(context, inner, frames)
        case st.Deallocate(name):
            return context.prepared.deallocate(name)
        case st.Show():
            return show(context, statement)
        case st.ShowFunctions(like):
            spark = context.spark
            from cepsql.spark.jvm.messages.function_list import functions

            return Answer(("function", "meaning"), tuple(functions(spark, like).items()))
        case st.Describe():
            return describe(context, statement)
        case st.Print(name) if context.catalog.names.find(name.text) is None and name.text in context.queries:
            from cepsql.standing.subscription import printed_rows

            return printed_rows(context, context.catalog.query(name.text), statement.limit)
        case st.Print():
            return print_rows(context, statement)
        case st.Subscribe(name):
            hint = f"engine.subscribe({name.text!r}) follows it; so does SUBSCRIBE in the shell"
            raise NotSupportedError("SUBSCRIBE has no end, and cannot be executed here", name.span, hint)
        case st.Explain(query, part):
            from cepsql.standing.explained import explained

            with recorded_steps(part == "planning") as steps:
                asked = _explained(context, query, frames)
            return explained(asked, part, context.session.running, steps)
        case st.ExplainMatch(query):
            from cepsql.standing.explained import explained_match

            return explained_match(_explained(context, query, frames), statement)
        case st.ExplainAnalyze(name):
            from cepsql.standing.analyzed import analyzed

            return analyzed(context, name)
        case st.SetOption():
            return context.given_settings.change(statement, context.restrictions)
        case st.ResetOption(key):
            return context.given_settings.reset(key)
        case st.Insert(target, query, columns):
            return insert(context, target, columns, query, frames)
        case st.Summarize(query):
            return summarize(context, query, frames)
        case st.WaitFor():
            from cepsql.standing.insert_tokens import wait_for

            return wait_for(context, statement)
        case _:
            from cepsql.standing.query_statements import execute as execute_standing

            return execute_standing(context, statement)


def check(context: Context, statement: st.Statement) -> None:
    """Raise the errors that executing a statement would raise before anything runs; definitions take effect."""
    match statement:
        case st.ParsedQuery() as query:
            plan = plan_query(query, context.relation)
            check_read_point(plan)
            refuse_endless_aggregate(plan.logical)
        case st.Explain(query) | st.ExplainMatch(query):
            _explained(context, query)
        case st.Summarize(query):
            plan_query(query, context.relation)
        case st.CreateAs(name):
            plan = context.plan(statement.query)
            refuse_endless_aggregate(plan.logical)
            if context.catalog.names.find(name.text) is None:
                context.catalog.add(View(name.text, statement.sql, *rows_of(plan)))
        case st.ExecutePrepared():
            sql, inner = context.prepared.bound(statement, context.parsed)
            with in_text(sql):
                check(context, inner)
        case st.ExplainAnalyze(name):
            context.catalog.query(name.text, name.span)
        case st.Insert(target, query):
            insert_target(context, target)
            refuse_endless_aggregate(context.plan(query).logical)
        case st.ControlQuery(_, name) | st.ShowHistory(name) | st.DescribeQuery(name):
            context.catalog.query(name.text, name.span)
        case st.CreateSource() if leaves_out_columns(statement):
            raise UncheckedError(
                f"{statement.name.text} names no columns, and only Spark can read them",
                statement.name.span,
                "cepsql check knows columns that are named: CREATE TABLE name (column TYPE, ...) USING ...",
            )
        case st.CreateMaterializedView():
            from cepsql.standing.materialized_views import check_view

            check_view(context, statement)
        case st.Print():
            printed(context, statement)
        case st.Subscribe(name):
            from cepsql.standing.subscription import followed

            followed(context, name.text, name.span)
        case st.SetOption(st.Name(key) as name) | st.ResetOption(st.Name(key) as name):
            if key.startswith(OWN) or key == NAMES_IN_DOUBLE_QUOTES:
                execute(context, statement)
            else:
                context.given_settings.check_name(name)
        case (
            st.CreateSource()
            | st.CreateView()
            | st.CreateSink()
            | st.CreateQuery()
            | st.CreateViewGroup()
            | st.AlterQuery()
            | st.Drop()
            | st.Describe()
            | st.Prepare()
            | st.Deallocate()
        ):
            execute(context, statement)


def _explained(context: Context, query: st.ParsedQuery | st.Defined, frames: Frames = NO_FRAMES) -> Query:
    """Return the query of an EXPLAIN statement, which may be one of the catalog."""
    if isinstance(query, st.ParsedQuery):
        return Query(context, context.plan(query, frames))
    from cepsql.standing.explained import defined_query

    return defined_query(context, query)
