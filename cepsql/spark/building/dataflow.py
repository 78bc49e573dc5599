"""Operators over changes that run in one task: rows pass between them without Spark's shuffle and state.

Spark plans, compiles and schedules each of its stages again in every micro-batch, which takes longer than the operators
need for the changes. With few tasks, that is most of the time of a chain of operators.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame
from pyspark.sql.streaming.state import GroupState
from pyspark.sql.types import LongType, StructField
from sqlglot import exp, parse_one

from cepsql.language.tokens import DIALECT
from cepsql.ordered.keyed.state_files import StateFolder
from cepsql.ordered.one_task import Channel, Dataflow, advance_all
from cepsql.scalar.expressions import Session
from cepsql.spark.building.neighbours import Sharing
from cepsql.spark.frames.buckets import Buckets
from cepsql.spark.frames.known_columns import passed_columns
from cepsql.spark.frames.packet_files import Packing, fetched
from cepsql.spark.frames.typed_frame import typed_frame
from cepsql.spark.frames.worker import settle
from cepsql.spark.sources.arrow_scan import ListedControl, ScannedInput, SourceScan, scan_inputs
from cepsql.spark.sources.control_packets import Reader, control_packets
from cepsql.spark.staging.bounds import BOUND
from cepsql.spark.staging.spark_stage import (
    Feed,
    StageInTask,
    given_out,
    input_packing,
    packed,
    reduced,
    run_in_buckets,
    stage_in_task,
)
from cepsql.spark.staging.stage_rows import OutputPackets, TaskPackets
from cepsql.spark.staging.staged import Staged
from cepsql.spark.staging.task_folders import TaskFolders

if TYPE_CHECKING:
    import pandas as pd

_STAGE = "stage"
"""The column of packets with the number of their stage."""


@dataclass(frozen=True)
class StagedFlow:
    """An operator, and the operators below it that run in its task.

    observation: the name of its counts in the progress of each batch.
    below:       the operators below by number of the input, each with the function that packs their rows.
    """

    staged: Staged
    observation: str
    below: Mapping[int, tuple["StagedFlow", OutputPackets]] = field(default_factory=dict)


def run_flow(
    flow: StagedFlow, buckets: Buckets, folders: TaskFolders, control: str | None, sharing: Sharing
) -> DataFrame:
    """Return the output of the top operator, as `cepsql.spark.staging.spark_stage.run_stage` does.

    control: the control folder of the query's checkpoint, if it has one.
    sharing: which sources the operators share; with one_control, file sources come first, control last.
    """
    parts = list({id(part): part for part in _parts(flow)}.values())
    numbers = {id(part): number for number, part in enumerate(parts)}
    packets, stages = [], []
    channels: list[list[Channel]] = [[] for _ in parts]
    control_readers, scans, begin = list[Reader](), list[ScannedInput](), list[int]()
    files = [scan for part in parts for feed in part.staged.feeds if (scan := _file_scan(feed)) is not None]
    listed = control if sharing.one_control and any(scan.listed_along for scan in files) else None
    for number, part in enumerate(parts):
        staged = part.staged
        if listed is not None and staged.begins and not staged.is_begun:
            begin.append(number)
            staged = replace(staged, is_begun=True)
        options = staged.options(control, None, folders)
        came = []
        for i, feed in enumerate(staged.feeds):
            if i in part.below:
                below, rows = part.below[i]
                inside = reduced(staged.operator, feed, Packing(1, i))
                channel = Channel(number, TaskPackets(rows.projection, rows.hold, inside))
                channels[numbers[id(below)]].append(channel)
                continue
            if sharing.one_control and feed.control is not None:
                control_readers.append((number, i))
                feed = replace(feed, control=None)
            packing = Packing(1, i, folder=folders.packets)
            scan = _file_scan(feed)
            if sharing.one_control and scan is not None:
                scans.append(ScannedInput(scan, input_packing(staged.operator, feed, packing), number))
            else:
                came.append(packed(staged.operator, feed, packing))
        came += [] if options.begin is None else [options.begin]
        packets += [frame.selectExpr("*", f"{number} AS {_STAGE}") for frame in came]
        stages.append(stage_in_task(staged.operator, staged.feeds, staged.identity, part.observation, options))
    if scans:
        along = None if listed is None else ListedControl(listed, tuple(control_readers), tuple(begin))
        packets.insert(0, scan_inputs(scans, _STAGE, sharing.one_scan, along))
    if control_readers and control is not None and listed is None:
        packets.append(control_packets(packets[0].sparkSession, control, control_readers, _STAGE))
    dataflow = Dataflow(tuple(one.stage for one in stages), tuple(map(tuple, channels)))
    advance = partial(_advance, stages, dataflow, folders.state)
    united = reduce(DataFrame.unionAll, packets)
    return run_in_buckets(united, advance, Buckets(1, buckets.partitions), flow.observation)


def typed_rows(
    staged: Staged, markers: bool, session: Session | None, make: Callable[[], DataFrame] | None = None
) -> DataFrame:
    """Return a frame that has the columns of an operator's output, as `cepsql.spark.staging.staged.staged_rows` returns
    them.

    session: its rules, None if Arrow can't follow them.
    make:    makes the frame with the operator's rows; None: it has no rows.
    """
    marks = [StructField(BOUND, LongType())] if markers and staged.hold is not None else []
    fields, output = [*staged.schema.fields, *marks], [*staged.output, *(mark.name for mark in marks)]
    select = parse_one(f"SELECT {', '.join(output)} FROM stage", read=DIALECT, into=exp.Select)
    passed = None if session is None else passed_columns(select, fields, session)
    spark = staged.feeds[0].frame.sparkSession
    if passed is not None:
        return typed_frame(spark, passed, make)
    return typed_frame(spark, fields).selectExpr(*output) if make is None else make()


def _file_scan(feed: Feed) -> SourceScan | None:
    """Return how tasks read the files of an input, None if it has no files, or Spark reads them."""
    return feed.read if isinstance(feed.read, SourceScan) and feed.read.of_files else None


def _parts(flow: StagedFlow) -> Iterator[StagedFlow]:
    """Yield the operators of a dataflow, each after those below it; repeats an operator with several readers."""
    for below, _ in flow.below.values():
        yield from _parts(below)
    yield flow


def _advance(
    stages: Sequence[StageInTask],
    flow: Dataflow,
    folder: StateFolder | None,
    key: tuple,
    frames: Iterator["pd.DataFrame"],
    state: GroupState,
) -> Iterator["pd.DataFrame"]:
    """Process one micro-batch in all stages."""
    settle()
    packets: dict[int, list[bytes]] = {}
    for frame in frames:
        for packet, number in zip(frame["packet"], frame[_STAGE], strict=True):
            packets.setdefault(number, []).append(fetched(packet))
    by_stage, new_state = advance_all(flow, state.get[0] if state.exists else None, packets, folder)
    state.update((new_state,))
    said = []
    for number, (advanced, seconds) in by_stage.items():
        stages[number].write_rejected(advanced, key[0])
        said.append(stages[number].said(advanced, seconds))
    last, _ = by_stage.get(len(stages) - 1, (None, 0))
    yield from given_out(last, said)
