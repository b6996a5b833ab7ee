import { type DescMessage, type MessageShape, toJsonString } from "@bufbuild/protobuf";
import { type Timestamp, timestampMs } from "@bufbuild/protobuf/wkt";
import { TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { TaskSummary } from "../../../gen/parley/admin/v1/admin_pb.js";
import type { Colour } from "../look.js";
import type { Cell, Column } from "../table.js";

const units = [
  ["d", 86_400],
  ["h", 3_600],
  ["m", 60],
  ["s", 1],
] as const;

/** The time since a moment in its two largest units, such as `3h12m`; empty without a moment. */
export function age(time: Timestamp | undefined, now: number = Date.now()): string {
  return time === undefined ? "" : duration(Math.max(0, now - timestampMs(time)) / 1_000);
}

/** A duration in its two largest units. */
export function duration(seconds: number): string {
  let rest = Math.floor(seconds);
  const first = units.findIndex(([, size]) => rest >= size);
  if (first < 0) return "0s";
  let text = "";
  for (const [unit, size] of units.slice(first, first + 2)) {
    const count = Math.floor(rest / size);
    rest -= count * size;
    if (count > 0) text += `${count}${unit}`;
  }
  return text;
}

/** A moment as ISO 8601 in UTC; empty if it is absent. */
export function moment(time: Timestamp | undefined): string {
  return time === undefined ? "" : new Date(timestampMs(time)).toISOString();
}

/** Bytes in a unit of three digits. */
export function bytes(count: bigint | number): string {
  let size = Number(count);
  for (const unit of ["B", "KiB", "MiB", "GiB"]) {
    if (size < 1_024) return `${unit === "B" || size >= 100 ? Math.round(size) : size.toFixed(1)} ${unit}`;
    size /= 1_024;
  }
  return `${size.toFixed(1)} TiB`;
}

const colourOfState: Readonly<Partial<Record<TaskState, Colour>>> = {
  [TaskState.COMPLETED]: "green",
  [TaskState.FAILED]: "red",
  [TaskState.REJECTED]: "red",
  [TaskState.CANCELED]: "dim",
  [TaskState.INPUT_REQUIRED]: "yellow",
  [TaskState.AUTH_REQUIRED]: "yellow",
};

/** A state as a word, such as `input-required`. */
export function stateName(state: TaskState): string {
  return (TaskState[state] ?? String(state)).toLowerCase().replaceAll("_", "-");
}

export function stateCell(state: TaskState): Cell {
  return { text: stateName(state), colour: colourOfState[state] };
}

export const taskColumns: readonly Column[] = [
  { title: "TASK" },
  { title: "STATE" },
  { title: "AGE", right: true },
  { title: "OWNER", min: 6 },
  { title: "AGENT", min: 6 },
  { title: "TENANT", min: 6 },
  { title: "CONTEXT", min: 8 },
];

export function taskRow({ taskId, state, statusTime, owner, agent, tenant, contextId }: TaskSummary): Cell[] {
  return [taskId, stateCell(state), age(statusTime), owner, agent, tenant, contextId];
}

/** A message as one line of the JSON of protobuf. */
export function jsonLine<D extends DescMessage>(schema: D, message: MessageShape<D>): string {
  return `${toJsonString(schema, message)}\n`;
}
