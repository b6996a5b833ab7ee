import { toJson } from "@bufbuild/protobuf";
import { type AgentCard, MessageSchema, type Task, TaskSchema } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { Candidate } from "../../../src/client/discovery/interfaces.js";
import type { Answer, Update } from "../../../src/client/web.js";
import { relayFetchOf } from "../api/relay.js";
import { openInterface } from "./interfaces.js";

/** Answer to one message over one interface. */
export interface Run {
  /** Until the first event, or the answer without a stream, in milliseconds. */
  readonly firstMs: number | undefined;
  readonly totalMs: number;
  readonly events: number;
  /** Bytes of the bodies. */
  readonly sent: number;
  readonly received: number;
  /** The answer as JSON without ids and times. */
  readonly answer: string;
}

/** Sends a message over one interface and counts. It begins a task of its own. @throws A2AError */
export async function runOver(
  agent: string,
  card: AgentCard,
  { candidate, text, signal }: { readonly candidate: Candidate; readonly text: string; readonly signal: AbortSignal },
): Promise<Run> {
  const bytes = { sent: 0, received: 0 };
  const client = await openInterface(agent, card, candidate, { fetch: counting(relayFetchOf(agent), bytes) });
  const begin = performance.now();
  const since = (): number => performance.now() - begin;
  let firstMs: number | undefined;
  let events = 0;
  let last: Update | Answer | undefined;
  try {
    if (card.capabilities?.streaming === true) {
      for await (const update of client.stream(text, { signal })) {
        firstMs ??= since();
        events += 1;
        last = update;
      }
    } else {
      last = await client.send(text, { signal });
      firstMs = since();
      events = 1;
    }
    return { firstMs, totalMs: since(), events, ...bytes, answer: normalized(last) };
  } finally {
    await client.close();
  }
}

/** Counts the bytes of the bodies that pass a `fetch`. */
function counting(fetch: typeof globalThis.fetch, bytes: { sent: number; received: number }): typeof globalThis.fetch {
  return async (input, init) => {
    const { body } = init ?? {};
    if (typeof body === "string") bytes.sent += new TextEncoder().encode(body).length;
    else if (body instanceof Uint8Array) bytes.sent += body.length;
    const answer = await fetch(input, init);
    if (answer.body === null || answer.status < 200 || [204, 205, 304].includes(answer.status)) return answer;
    const counted = new TransformStream<Uint8Array, Uint8Array>({
      transform: (chunk, controller) => {
        bytes.received += chunk.length;
        controller.enqueue(chunk);
      },
    });
    const { status, statusText, headers } = answer;
    return new Response(answer.body.pipeThrough(counted), { status, statusText, headers });
  };
}

/** Members that differ between two tasks that say the same. */
const own = /^(?:id|taskId|contextId|messageId|artifactId|timestamp|metadata|referenceTaskIds)$/;

/** Returns an answer as JSON with sorted members, without those that every task has its own of. */
function normalized(answer: Update | Answer | undefined): string {
  const json =
    answer?.task !== undefined
      ? toJson(TaskSchema, { ...answer.task, history: [] } as Task)
      : answer?.message !== undefined
        ? toJson(MessageSchema, answer.message)
        : null;
  return JSON.stringify(plain(json), undefined, 2);
}

function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null) return value;
  const kept = Object.entries(value).filter(([name]) => !own.test(name));
  return Object.fromEntries(
    kept.toSorted(([one], [other]) => (one < other ? -1 : 1)).map(([n, each]) => [n, plain(each)]),
  );
}
