import type { TaskState } from "../../../../gen/lf/a2a/v1/a2a_pb.js";
import type { Entry } from "../../../../gen/parley/admin/v1/admin_pb.js";
import type { LogEntry } from "../../../../gen/parley/log/v1/log_pb.js";
import { stateAfter } from "../../../../src/task/entry.js";
import { isInterrupted, isTerminal } from "../../../../src/task/state.js";
import { states } from "../../texts/states.js";
import { timelineWords } from "../../texts/tasks-timeline.js";
import { lineOf } from "./entry-text.js";
import { millisOf } from "./task-row.js";

/** Kind of a bar. */
export type BarKind = "turn" | "attempt" | "retry" | "model" | "step" | "failed" | "wait" | "delegation" | "artifact";

/** A span of time in a task's life. */
export interface Bar {
  readonly kind: BarKind;
  readonly label: string;
  /** Milliseconds since 1970. */
  readonly from: number;
  /** Undefined if it goes on. */
  readonly to: number | undefined;
  /** Position of the entry to look at. */
  readonly position: number;
}

/** Bars of one kind. */
export interface Lane {
  readonly name: string;
  readonly bars: readonly Bar[];
}

/** A status at its time. */
export interface Mark {
  readonly state: TaskState;
  readonly at: number;
  readonly position: number;
}

export interface Timeline {
  readonly from: number;
  readonly to: number;
  readonly lanes: readonly Lane[];
  readonly marks: readonly Mark[];
}

type Open = { -readonly [Key in keyof Bar]: Bar[Key] };

/** Collects the bars of a log, entry by entry. */
class Collector {
  readonly turns: Open[] = [];
  readonly waits: Open[] = [];
  readonly attempts: Open[] = [];
  readonly steps: Bar[] = [];
  readonly delegations = new Map<string, Open>();
  readonly artifacts = new Map<string, Open>();
  readonly marks: Mark[] = [];
  from = Number.POSITIVE_INFINITY;
  to = 0;
  #attempt = "";

  take({ entry, attempt, writer }: Entry): void {
    const at = millisOf(entry?.time);
    if (entry === undefined || at === undefined) return;
    this.from = Math.min(this.from, at);
    this.to = Math.max(this.to, at);
    const { event, position } = entry;
    if (event.case === "created" || event.case === "message") this.#message(entry, at);
    if (event.case === "step") this.#step(entry, at);
    if (event.case === "artifact") {
      const artifact = event.value.artifact;
      const name = artifact?.name || artifact?.artifactId || "";
      extend(this.artifacts, artifact?.artifactId ?? "", { kind: "artifact", label: name, from: at, to: at, position });
    }
    if (entry.relay !== undefined) {
      const { delegation, agent } = entry.relay;
      extend(this.delegations, delegation, { kind: "delegation", label: agent, from: at, to: at, position });
    }
    if (attempt > 0) this.#execution(entry, at, attempt, writer);
    const state = stateAfter(event);
    if (state !== undefined) this.#status(state, at, position);
  }

  #message(entry: LogEntry, at: number): void {
    const { position } = entry;
    this.#end(this.waits, at);
    const label = timelineWords.turn(this.turns.length + 1, lineOf(entry));
    this.turns.push({ kind: "turn", label, from: at, to: undefined, position });
  }

  #status(state: TaskState, at: number, position: number): void {
    this.marks.push({ state, at, position });
    if (isTerminal(state) || isInterrupted(state)) this.#end(this.turns, at);
    if (isTerminal(state)) this.#end(this.waits, at);
    if (isInterrupted(state)) {
      this.#end(this.waits, at);
      this.waits.push({ kind: "wait", label: states[state], from: at, to: undefined, position });
    }
  }

  #step({ event, position }: LogEntry, at: number): void {
    if (event.case !== "step") return;
    const { name, count, started, outcome, attempts } = event.value;
    const kind = outcome.case === "error" ? "failed" : name === "model" ? "model" : "step";
    const from = millisOf(started) ?? at;
    this.from = Math.min(this.from, from);
    this.steps.push({ kind, label: timelineWords.step(name, count, attempts), from, to: at, position });
  }

  /** Entries of one execution follow each other. After a crash comes another one. */
  #execution({ position }: LogEntry, at: number, attempt: number, writer: string): void {
    const key = `${this.turns.length} ${attempt} ${writer}`;
    const last = this.attempts.at(-1);
    if (key === this.#attempt && last !== undefined) last.to = at;
    else {
      const label = timelineWords.attempt(attempt, writer);
      this.attempts.push({ kind: attempt > 1 ? "retry" : "attempt", label, from: at, to: at, position });
    }
    this.#attempt = key;
  }

  #end(bars: readonly Open[], at: number): void {
    for (let index = bars.length - 1; index >= 0; index--) {
      const bar = bars[index];
      if (bar === undefined || bar.to !== undefined) return;
      bar.to = at;
    }
  }
}

function extend(bars: Map<string, Open>, key: string, bar: Open): void {
  const known = bars.get(key);
  if (known === undefined) bars.set(key, bar);
  else known.to = bar.to;
}

/** Computes the bars of a task from its log. */
export function timelineOf(entries: readonly Entry[]): Timeline | undefined {
  const all = new Collector();
  for (const entry of entries) all.take(entry);
  if (all.to === 0) return undefined;
  const { lanes } = timelineWords;
  const named: readonly (readonly [string, readonly Bar[]])[] = [
    [lanes.turns, all.turns],
    [lanes.attempts, all.attempts],
    ...stacked(
      lanes.model,
      all.steps.filter(({ kind, label }) => kind === "model" || label.startsWith("model")),
    ),
    ...stacked(
      lanes.steps,
      all.steps.filter(({ kind, label }) => kind !== "model" && !label.startsWith("model")),
    ),
    [lanes.waits, all.waits],
    ...stacked(lanes.delegations, [...all.delegations.values()]),
    ...stacked(lanes.artifacts, [...all.artifacts.values()]),
  ];
  const filled = named.filter(([, bars]) => bars.length > 0).map(([name, bars]) => ({ name, bars }));
  return { from: all.from, to: all.to, lanes: filled, marks: all.marks };
}

/** Lines of bars that overlap. Further ones share the last line. */
const MAX_LINES = 8;

/** Spreads bars over as many lines as keep them apart. */
function stacked(name: string, bars: readonly Bar[]): readonly (readonly [string, readonly Bar[]])[] {
  const lines: Bar[][] = [];
  for (const bar of bars.toSorted((one, other) => one.from - other.from)) {
    const free = lines.find((line) => (line.at(-1)?.to ?? Number.POSITIVE_INFINITY) < bar.from);
    if (free !== undefined) free.push(bar);
    else if (lines.length < MAX_LINES) lines.push([bar]);
    else lines.at(-1)?.push(bar);
  }
  return lines.map((line, index) => [index === 0 ? name : timelineWords.line(name, index + 1), line]);
}
