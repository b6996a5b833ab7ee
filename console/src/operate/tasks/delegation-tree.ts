import type { TaskState } from "../../../../gen/lf/a2a/v1/a2a_pb.js";
import type { Entry } from "../../../../gen/parley/admin/v1/admin_pb.js";
import type { LogEntry } from "../../../../gen/parley/log/v1/log_pb.js";
import { type Origin, originIn } from "./origins.js";
import { millisOf } from "./task-row.js";

/** A sub-task, as the log of the task that began it tells. */
export interface Delegation {
  readonly key: string;
  /** Name or URL of the other agent. */
  readonly agent: string;
  /** Empty if the agent answered directly, or was not reached yet. */
  readonly taskId: string;
  /** Undefined where only the metadata of an agent name the task. */
  readonly state: TaskState | undefined;
  /** Milliseconds since 1970. */
  readonly from: number;
  readonly to: number;
  /** Sub-tasks of which relayed messages and artifacts tell. */
  readonly below: readonly Delegation[];
}

interface Growing {
  key: string;
  agent: string;
  taskId: string;
  state: TaskState | undefined;
  from: number;
  to: number;
  readonly below: Map<string, Growing>;
}

/** Returns the delegations of a log, in the order in which they began. */
export function delegationsOf(entries: readonly Entry[]): readonly Delegation[] {
  const all = new Map<string, Growing>();
  for (const { entry } of entries) {
    if (entry?.relay === undefined) continue;
    const { relay } = entry;
    const at = millisOf(entry.time) ?? 0;
    const key = `${relay.origin} ${relay.delegation}`;
    const known = grown(all, key, relay.agent, relay.taskId, at);
    known.state = relay.state || known.state;
    // The outermost origin is the sub-task itself.
    for (let origin = originOf(entry)?.origin, last = known; origin !== undefined; origin = origin.origin) {
      last = grown(last.below, `${origin.agent} ${origin.taskId}`, origin.agent, origin.taskId ?? "", at);
    }
  }
  return [...all.values()].map(settled);
}

function grown(all: Map<string, Growing>, key: string, agent: string, taskId: string, at: number): Growing {
  const known = all.get(key) ?? { key, agent, taskId, state: undefined, from: at, to: at, below: new Map() };
  all.set(key, known);
  known.taskId = taskId || known.taskId;
  known.to = at;
  return known;
}

const settled = (growing: Growing): Delegation => ({ ...growing, below: [...growing.below.values()].map(settled) });

function originOf({ event }: LogEntry): Origin | undefined {
  if (event.case === "status") return originIn(event.value.status?.message?.metadata);
  return event.case === "artifact" ? originIn(event.value.artifact?.metadata) : undefined;
}
