import { equals } from "@bufbuild/protobuf";
import { PartSchema, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { RelayCheckpoint } from "../agent/delegation.js";
import { messageOf } from "../client/calls/message-input.js";
import { A2AError } from "../core/error.js";
import { isInterrupted, isTerminal } from "../task/state.js";
import type { DelegationJob } from "./job.js";
import { inputOf } from "./relay.js";
import { type Relayed, rootOf, sendNames } from "./relayed.js";
import { retryWhileUnavailable } from "./retry-while-unavailable.js";

/**
 * Returns the position of the message that started a delegation. After a question of another agent it is the message
 * that started all delegations of the previous turn. After a question of the author's own, each delegation that was
 * called the same way before continues: its question waits, or its sub-task received the same content. Any other
 * delegation starts with the message of the turn.
 */
export async function originPosition(job: DelegationJob): Promise<number> {
  const { events, name, agent, turn } = job;
  const { position } = turn.request;
  const mine = events.filter(({ checkpoint }) => checkpoint.delegation === name).map(({ checkpoint }) => checkpoint);
  const own = mine.find((checkpoint) => checkpoint.turn === position);
  if (own !== undefined) return own.origin;
  const root = rootOf(events, position);
  const last = mine.at(-1);
  if (last === undefined || last.origin === root || last.agent !== agent) return root;
  return isInterrupted(last.state) || (await isSameCall(job, last)) ? last.origin : root;
}

/**
 * Tells whether the sub-task received this call's content and its result can be used. An agent without a history starts
 * again.
 */
async function isSameCall(job: DelegationJob, checkpoint: RelayCheckpoint): Promise<boolean> {
  const { turn, remote, message, outageMs, pause, end } = job;
  const signal = AbortSignal.any([turn.signal, pause.signal, end]);
  const { taskId: id, origin } = checkpoint;
  if (id === "") return false;
  const began = await turn.messageAt(origin);
  const { messageId } = await sendNames(turn.request, checkpoint, began);
  const read = async () => (await remote.client()).getTask({ id }, { signal, headers: remote.headers() });
  try {
    const { status, history } = await retryWhileUnavailable(read, outageMs, signal);
    const state = status?.state ?? TaskState.UNSPECIFIED;
    if (isTerminal(state) && state !== TaskState.COMPLETED) return false;
    const sent = history.find((each) => each.messageId === messageId)?.parts;
    const { parts } = messageOf(inputOf(message ?? began));
    return sent?.length === parts.length && parts.every((part, at) => equals(PartSchema, part, sent[at] ?? part));
  } catch (error) {
    if (!(error instanceof A2AError)) throw error;
    return false;
  }
}

/**
 * Rejects a delegation whose name or number belongs to another agent's sub-task, which only that agent can continue.
 */
export function checkAgent({ agent, name, cancelSubTask }: DelegationJob, { last, sent }: Relayed): void {
  const checkpoint = last?.checkpoint ?? sent;
  if (checkpoint === undefined || checkpoint.agent === agent) return;
  cancelSubTask(checkpoint);
  const other = JSON.stringify(checkpoint.agent);
  throw new TypeError(
    `The delegation "${name}" of this task was sent to ${other} before, but now names ${JSON.stringify(agent)}. ` +
      "Name delegations (options.name) if their order or agents may change.",
  );
}
