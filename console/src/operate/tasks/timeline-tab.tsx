import { useNavigate } from "@tanstack/react-router";
import { type ReactNode, useMemo, useState } from "react";
import { timelineWords } from "../../texts/tasks-timeline.js";
import { clockTime, durationText } from "../../ui/format.js";
import { Button, css, Empty, Skeleton } from "../../ui/parts.js";
import { type Column, Rows } from "../../ui/rows.js";
import { ScanState } from "./scan-state.js";
import type { TaskLog } from "./task-log.js";
import { type Bar, type Timeline, timelineOf } from "./timeline.js";
import { TimelineChart } from "./timeline-chart.js";
import { useScan } from "./use-scan.js";

/** Shows the work of a task over time. */
export function TimelineTab({ log }: { readonly log: TaskLog }): ReactNode {
  const scan = useScan(log);
  const [isTable, setTable] = useState(false);
  const navigate = useNavigate({ from: "/operate/tasks/$taskId" });
  const timeline = useMemo(() => timelineOf(scan.entries), [scan.entries]);
  const open = (position: number): void =>
    void navigate({ search: (before) => ({ ...before, tab: "log", entry: position }) });
  if (timeline === undefined) {
    if (scan.isReading) return <Skeleton lines={6} />;
    return (
      <>
        <ScanState scan={scan} log={log} />
        <Empty title={timelineWords.empty}>{timelineWords.emptyHint}</Empty>
      </>
    );
  }
  return (
    <>
      <div className={css.row}>
        <Button aria-pressed={isTable} onClick={() => setTable(!isTable)}>
          {isTable ? timelineWords.asChart : timelineWords.asTable}
        </Button>
        <ScanState scan={scan} log={log} />
      </div>
      {isTable ? (
        <TimelineTable timeline={timeline} onOpen={open} />
      ) : (
        <TimelineChart timeline={timeline} onOpen={open} />
      )}
    </>
  );
}

interface Line extends Bar {
  readonly lane: string;
}

const { columns: names } = timelineWords;

const columns: readonly Column<Line>[] = [
  { name: names.label, width: "minmax(0, 3fr)", cell: ({ label }) => <span title={label}>{label}</span> },
  { name: names.duration, width: "120px", cell: lengthOf },
  { name: names.lane, width: "minmax(0, 1fr)", minor: true, cell: ({ lane }) => lane },
  { name: names.from, width: "120px", minor: true, cell: ({ from }) => clockTime(new Date(from)) },
  { name: names.position, width: "80px", minor: true, cell: ({ position }) => position },
];

function lengthOf({ from, to }: Bar): string {
  return to === undefined ? timelineWords.goesOn : durationText(to - from);
}

interface TimelineTableProps {
  readonly timeline: Timeline;
  readonly onOpen: (position: number) => void;
}

function TimelineTable({ timeline, onOpen }: TimelineTableProps): ReactNode {
  const lines = useMemo(
    () =>
      timeline.lanes
        .flatMap(({ name, bars }) => bars.map((bar): Line => ({ ...bar, lane: name })))
        .toSorted((one, other) => one.from - other.from),
    [timeline],
  );
  return (
    <Rows
      label={timelineWords.label}
      rows={lines}
      columns={columns}
      keyOf={({ lane, position, label }) => `${lane} ${position} ${label}`}
      onOpen={({ position }) => onOpen(position)}
    />
  );
}
