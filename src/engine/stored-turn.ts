import { create } from "@bufbuild/protobuf";
import { type Message, MessageSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { LogEntry } from "../../gen/parley/log/v1/log_pb.js";
import type { TurnRequest } from "../agent/turn-request.js";
import { anonymous } from "../core/caller.js";
import type { TaskHead } from "../store/task-store.js";

/** The turn of a message as its entry tells of it, for a process that did not accept it; undefined for other entries. */
export function storedTurn(head: TaskHead, entry: LogEntry): TurnRequest | undefined {
  const message = messageOf(entry);
  const context = entry.turn;
  if (message === undefined) return undefined;
  return {
    message,
    position: entry.position,
    attempt: 1,
    // Claims are credentials' business and never stored: a restarted turn knows its owner and scopes.
    caller:
      head.owner === ""
        ? anonymous
        : { owner: head.owner, authenticated: true, scopes: context?.scopes ?? [], claims: {} },
    tenant: head.tenant,
    extensions: new Set(context?.extensions),
    acceptedOutputModes: context?.acceptedOutputModes ?? [],
    metadata: context?.metadata ?? {},
    traceParent: entry.traceParent,
    delegationDepth: context?.delegationDepth ?? 0,
    keptAs: message.taskId === head.taskId ? undefined : head.taskId,
  };
}

function messageOf(entry: LogEntry): Message | undefined {
  if (entry.event.case === "message") return entry.event.value;
  if (entry.event.case === "created") return entry.event.value.history.at(-1) ?? create(MessageSchema);
  return undefined;
}
