"""Rows passed to a Python function, by its name."""

import importlib
from collections.abc import Callable

import pyarrow as pa
from pyspark.sql import DataFrame

from cepsql.catalog import Sink
from cepsql.errors import ProgrammingError
from cepsql.render.far_times import for_python
from cepsql.sinks.added_columns import Columns
from cepsql.sinks.fitted import FittedSink
from cepsql.sinks.sink_options import Options
from cepsql.sinks.writer import Batch, WriterIdentity
from cepsql.spark.frames.arrow_rows import to_arrow
from cepsql.spark.run.sink import called


class FunctionSink(FittedSink):
    """Calls `function(rows, batch)` of a module with the rows of each micro-batch, a `pyarrow.Table`, and its `Batch`.

    Option: function, as `module:name`.
    """

    def __init__(self, sink: Sink, writer: WriterIdentity):
        super().__init__(sink, writer)
        self._name = Options(sink, ["function"]).needed("function", "alerts:send")
        self._function: Callable[[pa.Table, Batch], object] | None = None

    def check(self, columns: Columns) -> None:
        """Refuse columns that do not fit, and a missing function."""
        super().check(columns)
        self._function = self._import_function()

    def write(self, frame: DataFrame, batch: int) -> int:
        """Call the function, if there are rows."""
        self._function = self._function or self._import_function()
        rows = to_arrow(frame)
        if rows.num_rows:
            with called(f"{self._name} of sink {self.sink.name}"):
                self._function(for_python(rows), Batch(self.writer, batch))
        return rows.num_rows

    def _import_function(self) -> Callable[[pa.Table, Batch], object]:
        module, _, name = self._name.partition(":")
        try:
            function: object = importlib.import_module(module)
            for part in name.split("."):
                function = getattr(function, part)
        except (ImportError, AttributeError, ValueError) as error:
            hint = "the option function is 'module:name' of something that Python can import here"
            raise ProgrammingError(
                f"sink {self.sink.name} finds no function {self._name}: {error}", hint=hint
            ) from error
        except (Exception, SystemExit) as error:
            said = f"sink {self.sink.name} cannot import {module}: {type(error).__name__}: {error}"
            raise ProgrammingError(said.removesuffix(": ")) from error
        if not callable(function):
            raise ProgrammingError(f"{self._name} of sink {self.sink.name} is no function")
        return function
