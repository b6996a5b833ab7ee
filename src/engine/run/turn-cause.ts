import type { LogEntry } from "../../../gen/parley/log/v1/log_pb.js";
import type { LogCause } from "../../core/log-facts.js";
import type { TaskStore } from "../../store/task-store.js";
import { storedEntry } from "../log/fold-stored.js";

/** A stored turn without an execution. */
interface StoredTurn {
  readonly taskId: string;
  /** Position of its message. */
  readonly position: number;
  readonly agentName: (tenant: string) => string | undefined;
}

/**
 * Returns the cause of a log line about a stored turn: the request that its message came with. Never rejects: the line
 * lacks what the store cannot read.
 */
export async function turnCause(store: TaskStore, { taskId, position, agentName }: StoredTurn): Promise<LogCause> {
  let agent: string | undefined;
  let message: LogEntry | undefined;
  try {
    const head = await store.head({ taskId });
    agent = head && agentName(head.tenant);
    message = await storedEntry(store, taskId, position);
  } catch {}
  return { requestId: message?.turn?.requestId, traceParent: message?.traceParent, taskId, agent };
}
