import type { JsonObject } from "@bufbuild/protobuf";
import type { StreamResponse, Task } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { Call } from "../core/call.js";
import { invalid } from "../core/error.js";
import { eventResponse } from "../task/entry.js";
import { type NumberInField, versionFactsOf } from "../version/facts.js";
import { carry, generationOf, mark, weightOf } from "../wire/marks.js";
import { sharedCopy } from "../wire/serialization-cache.js";
import { resumeParameters as parameters, RESUME_EXTENSION } from "../wire/service-params.js";

/** The generation that a subscription continues after, and the header that names it. */
export interface ResumePoint {
  readonly after: number;
  readonly field: string;
}

/** Returns the generation that a new subscription continues after. Undefined if it begins with the current state. */
export function resumeAfter(call: Call): ResumePoint | undefined {
  const named = parameter(call, parameters.after);
  if (named !== undefined) return { after: named, field: parameters.after };
  // Browsers send this header automatically when they resume event streams, so it needs no extension.
  const last = call.header("last-event-id")?.trim();
  const field = "Last-Event-ID";
  return last === undefined || last === "" ? undefined : { after: wholeNumber(field, last), field };
}

/** @throws A2AError if the task has not reached the generation */
export function checkRange({ after, field }: ResumePoint, generation: number): void {
  if (after < 1 || after > generation)
    throw invalid([{ field, description: `${after} is not from 1 to ${generation}` }]);
}

/** A read that waits until the task has passed a generation, at most `waitMs` milliseconds. */
interface LongPoll {
  readonly after: number;
  readonly waitMs: number;
}

/** Maximum duration of a long poll, in milliseconds. Many proxies close requests that are silent for longer. */
export const poll = { maxMs: 60_000 } as const;

/** Returns the long poll that a read requests, or undefined. */
export function longPoll(call: Call): LongPoll | undefined {
  const after = inField(versionFactsOf(call).known) ?? parameter(call, parameters.after);
  const seconds = parameter(call, parameters.wait);
  if (after === undefined) {
    if (seconds === undefined) return undefined;
    throw invalid([
      { field: parameters.wait, description: `requires ${parameters.after}, the generation to wait for` },
    ]);
  }
  return { after, waitMs: Math.min(poll.maxMs, seconds === undefined ? poll.maxMs : seconds * 1_000) };
}

/** Returns the generation that a send expects its task to have, or undefined. */
export function expectedGeneration(call: Call): number | undefined {
  return inField(versionFactsOf(call).expected) ?? parameter(call, parameters.expected);
}

function inField(number: NumberInField | undefined): number | undefined {
  return number === undefined ? undefined : wholeNumber(number.field, `${number.value}`);
}

function parameter(call: Call, name: string): number | undefined {
  const value = call.header(name)?.trim();
  if (value === undefined) return undefined;
  if (call.extensions.has(RESUME_EXTENSION)) return wholeNumber(name, value);
  // Ignoring the parameter would return an answer that the client did not ask for.
  throw invalid([{ field: name, description: `needs the extension ${RESUME_EXTENSION} in A2A-Extensions` }]);
}

function wholeNumber(field: string, value: string): number {
  if (/^\d{1,10}$/.test(value)) return Number(value);
  throw invalid([{ field, description: "must be a whole number" }]);
}

/**
 * Returns the task with its generation: in the metadata if the call activated the extension, and as a mark if the
 * call's version has a field for it.
 */
export function withGeneration(call: Call, task: Task, generation: number): Task {
  // All readers that share the task see the same generation of it.
  if (versionFactsOf(call).hasGenerations) mark(task, { generation });
  if (!call.extensions.has(RESUME_EXTENSION)) return task;
  const known = notedTasks.get(task);
  if (known !== undefined) return known;
  const copy = sharedCopy(task, { metadata: metadataWithGeneration(task.metadata, generation) });
  // All readers of the same large task share one copy.
  if (weightOf(task) !== undefined) notedTasks.set(task, copy);
  return copy;
}

/** Copies of large tasks with their generation in the metadata. */
const notedTasks = new WeakMap<Task, Task>();

/** Returns the event of a stream, with its generation in the metadata if the call activated the extension. */
export function eventWithGeneration(call: Call, response: StreamResponse): StreamResponse {
  const generation = generationOf(response);
  const { payload } = response;
  if (!call.extensions.has(RESUME_EXTENSION) || generation === undefined) return response;
  if (payload.case !== "statusUpdate" && payload.case !== "artifactUpdate") return response;
  const event = { ...payload.value, metadata: metadataWithGeneration(payload.value.metadata, generation) };
  return carry(response, eventResponse(event));
}

function metadataWithGeneration(metadata: JsonObject | undefined, generation: number): JsonObject {
  return { ...metadata, [RESUME_EXTENSION]: { generation } };
}
