import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { LogEntry } from "../../gen/parley/log/v1/log_pb.js";
import type { TaskHead } from "../../src/store/task-store.js";
import { decodeEntry, stateAfter } from "../../src/task/entry.js";
import { isTerminal, mayFollow } from "../../src/task/state.js";
import { tell } from "../engine/support.js";
import type { Seen, Sim } from "./sim.js";

/** Descriptions of the invariants that the end of a schedule violates. */
export async function violationsOf(sim: Sim): Promise<string[]> {
  const { inside } = sim.world;
  const { heads } = await inside.list({ tenant: "", owner: "", limit: 10 });
  const found: string[] = [];
  if (heads.length !== 1) found.push(`${heads.length} tasks exist where clients asked for one`);
  for (const head of heads) {
    const log = (await inside.read({ taskId: head.taskId, after: 0, limit: 1_000 })).map(decodeEntry);
    found.push(...ofLog(log, head), ...ofMessages(sim, log, head), ...ofReaders(sim, log));
  }
  found.push(...ofLeases(sim), ...ofSteps(sim));
  return found;
}

/** The log follows the state table, and the head agrees with it. */
function ofLog(log: readonly LogEntry[], head: TaskHead): string[] {
  const found: string[] = [];
  let state: TaskState | undefined;
  log.forEach((entry, index) => {
    if (entry.position !== index + 1) found.push(`entry ${index + 1} says that it is entry ${entry.position}`);
    if (state !== undefined && isTerminal(state)) found.push(`${entry.event.case} follows ${TaskState[state]}`);
    const next = stateAfter(entry.event);
    if (state !== undefined && next !== undefined && !mayFollow(state, next))
      found.push(`${TaskState[next]} follows ${TaskState[state]}`);
    state = next ?? state;
  });
  if (head.position !== log.length) found.push(`the head is at ${head.position} of ${log.length} entries`);
  if (!isTerminal(head.state)) found.push(`the task is still ${TaskState[head.state]} after all time`);
  if (head.lease !== null) found.push(`the task keeps the lease of ${head.lease.turn}, which nobody runs`);
  return found;
}

/** Every accepted message is in the log once and has a turn. In a completed task it has an answer. */
function ofMessages(sim: Sim, log: readonly LogEntry[], head: TaskHead): string[] {
  const found: string[] = [];
  const said = log.flatMap(textOf);
  const answers = log.flatMap(({ event }) => (event.case === "artifact" ? [event.value.artifact?.name ?? ""] : []));
  const outcomes = sim.sent.filter(({ taskId }) => taskId !== undefined);
  for (const text of new Set(outcomes.map((sent) => sent.text))) {
    const times = said.filter((each) => each === text).length;
    if (times !== 1) found.push(`the accepted message ${text} is ${times} times in the log`);
  }
  for (const { text, answered, state } of outcomes) {
    if (state === TaskState.COMPLETED && answered?.includes(text) === false)
      found.push(`the call with ${text} was answered with ${answered.join()}, without its own artifact`);
    if (
      answered !== undefined &&
      state !== undefined &&
      !isTerminal(state) &&
      !answered.includes(text) &&
      text !== "first"
    )
      found.push(`the call with ${text} was answered by ${TaskState[state]} of the turn before`);
  }
  const heard = sim.heard.map(({ text, attempt }) => `${text}, attempt ${attempt}`);
  for (const each of new Set(heard)) {
    if (heard.filter((other) => other === each).length > 1) found.push(`an agent heard ${each}, twice`);
  }
  for (const text of said) {
    const times = sim.heard.filter((each) => each.text === text).length;
    if (times === 0 && head.state === TaskState.COMPLETED) found.push(`the message ${text} was never heard`);
    if (times > 1 && sim.world.told.again.length === 0) found.push(`the message ${text} was heard ${times} times`);
    if (head.state === TaskState.COMPLETED && !answers.includes(text) && !sim.asks.has(text))
      found.push(`the task is COMPLETED without the artifact of ${text}`);
  }
  if (sim.canceled === "early") found.push("a cancel was answered before the task's end was stored");
  return found;
}

function textOf({ event }: LogEntry): string[] {
  const message = event.case === "message" ? event.value : event.case === "created" ? event.value.history.at(-1) : null;
  return message ? [String(message.parts[0]?.content.value)] : [];
}

/**
 * Every subscriber received the log from its start position without a gap, and to the end unless a pause ended its
 * stream.
 */
function ofReaders(sim: Sim, log: readonly LogEntry[]): string[] {
  return sim.seen.flatMap((seen) => {
    const should = log.filter(({ position }) => position > seen.from).flatMap(toldOf);
    const isPrefix = seen.events.every((event, index) => event === should[index]);
    const isWhole = seen.events.length === should.length || !mustBeWhole(sim, seen);
    return isPrefix && isWhole ? [] : [`a subscriber of ${seen.process} saw ${seen.events} of ${should}`];
  });
}

function mustBeWhole({ world }: Sim, { process, events }: Seen): boolean {
  return world.isAlive(process) && events.at(-1)?.startsWith("INPUT_REQUIRED") !== true;
}

function toldOf({ event }: LogEntry): string[] {
  if (event.case === "status") return [tell({ payload: { case: "statusUpdate", value: event.value } } as never)];
  if (event.case === "artifact") return [tell({ payload: { case: "artifactUpdate", value: event.value } } as never)];
  return [];
}

/** No entry is stored under a replaced lease, and each attempt at a turn has one process. */
function ofLeases({ world: { told } }: Sim): string[] {
  const found: string[] = [];
  told.fences.forEach((fence, index) => {
    const before = told.fences[index - 1];
    if (before === undefined || fence.turn > before.turn) return;
    if (fence.turn === before.turn && fence.attempt >= before.attempt) return;
    found.push(`entries of ${nameOf(fence)} follow those of ${nameOf(before)}`);
  });
  for (const { turn, attempt, holder } of told.fences) {
    const other = told.fences.find((each) => each.turn === turn && each.attempt === attempt && each.holder !== holder);
    if (other !== undefined) return [...found, `two processes stored ${nameOf({ turn, attempt })}`];
  }
  return found;
}

function nameOf({ turn, attempt }: { readonly turn: number; readonly attempt: number }): string {
  return `attempt ${attempt} of turn ${turn}`;
}

/** A step with a stored result does not run again. */
function ofSteps({ works }: Sim): string[] {
  return works.some(({ stored }) => stored) ? ["a step was done again after its result was stored"] : [];
}
