import type { JsonObject, MessageInitShape } from "@bufbuild/protobuf";
import type { AgentExtensionSchema, StreamResponse, Task } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { Call, NumberInField } from "../core/call.js";
import { invalid } from "../core/error.js";
import { eventResponse } from "../task/entry.js";
import { carry, generationOf, mark, weightOf } from "../wire/marks.js";
import { sharedCopy } from "../wire/serialization-cache.js";
import { resumeParameters as parameters, RESUME_EXTENSION } from "../wire/service-params.js";

/** The extension as the card declares it. */
export const resumeExtension: MessageInitShape<typeof AgentExtensionSchema> = {
  uri: RESUME_EXTENSION,
  description: "Tasks and events carry a generation; streams resume after one, reads wait for one, sends expect one.",
  required: false,
};

/** The generation that a subscription continues after, and the header that names it. */
export interface ResumePoint {
  readonly after: number;
  readonly field: string;
}

/** The generation that a new subscription continues after; undefined for one that begins with the present state. */
export function resumeAfter(call: Call): ResumePoint | undefined {
  const named = parameter(call, parameters.after);
  if (named !== undefined) return { after: named, field: parameters.after };
  // Browsers resume event streams with this header by themselves; it needs no extension.
  const last = call.header("last-event-id")?.trim();
  const field = "Last-Event-ID";
  return last === undefined || last === "" ? undefined : { after: wholeNumber(field, last), field };
}

/** A read that waits until the task has passed a generation, for at most `waitMs` milliseconds. */
export interface LongPoll {
  readonly after: number;
  readonly waitMs: number;
}

/** The longest that a long poll waits, in milliseconds. Many proxies end a request on which nothing is sent for longer. */
export const poll = { maxMs: 60_000 } as const;

/** The long poll that a read asks for, or undefined. */
export function longPoll(call: Call): LongPoll | undefined {
  const after = inField(call.generations?.known) ?? parameter(call, parameters.after);
  const seconds = parameter(call, parameters.wait);
  if (after === undefined) {
    if (seconds === undefined) return undefined;
    throw invalid([
      { field: parameters.wait, description: `goes with ${parameters.after}, which says what to wait for` },
    ]);
  }
  return { after, waitMs: Math.min(poll.maxMs, seconds === undefined ? poll.maxMs : seconds * 1_000) };
}

/** The generation at which a send expects its task, or undefined. */
export function expectedGeneration(call: Call): number | undefined {
  return inField(call.generations?.expected) ?? parameter(call, parameters.expected);
}

function inField(number: NumberInField | undefined): number | undefined {
  return number === undefined ? undefined : wholeNumber(number.field, `${number.value}`);
}

function parameter(call: Call, name: string): number | undefined {
  const value = call.header(name)?.trim();
  if (value === undefined) return undefined;
  if (call.extensions.has(RESUME_EXTENSION)) return wholeNumber(name, value);
  // Ignoring the parameter would answer a different question from the one that the client asked.
  throw invalid([{ field: name, description: `needs the extension ${RESUME_EXTENSION} in A2A-Extensions` }]);
}

function wholeNumber(field: string, value: string): number {
  if (/^\d{1,10}$/.test(value)) return Number(value);
  throw invalid([{ field, description: "must be a whole number" }]);
}

/** The task with its generation in the metadata, where the call activated the extension, and on it, where the call's version has a field. */
export function withGeneration(call: Call, task: Task, generation: number): Task {
  // Whoever shares the task sees it at the same generation.
  if (call.generations !== undefined) mark(task, { generation });
  if (!call.extensions.has(RESUME_EXTENSION)) return task;
  const known = notedTasks.get(task);
  if (known !== undefined) return known;
  const copy = sharedCopy(task, { metadata: noted(task.metadata, generation) });
  // All readers of the same large task share one copy, as they share the task.
  if (weightOf(task) !== undefined) notedTasks.set(task, copy);
  return copy;
}

/** Copies of large tasks that have their generation in the metadata. */
const notedTasks = new WeakMap<Task, Task>();

/** The event of a stream with its generation in the metadata, where the call activated the extension. */
export function eventWithGeneration(call: Call, response: StreamResponse): StreamResponse {
  const generation = generationOf(response);
  const { payload } = response;
  if (!call.extensions.has(RESUME_EXTENSION) || generation === undefined) return response;
  if (payload.case !== "statusUpdate" && payload.case !== "artifactUpdate") return response;
  const event = { ...payload.value, metadata: noted(payload.value.metadata, generation) };
  return carry(response, eventResponse(event));
}

function noted(metadata: JsonObject | undefined, generation: number): JsonObject {
  return { ...metadata, [RESUME_EXTENSION]: { generation } };
}
