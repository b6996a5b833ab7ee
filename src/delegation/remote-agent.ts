import type { CallOptions as ConnectOptions } from "@connectrpc/connect";
import { A2AService, type AgentCard } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { RemoteAgent, RemoteOptions } from "../agent/delegation.js";
import { share } from "../client/calls/stop.js";
import { A2AError } from "../core/error.js";
import type { SubTaskClient } from "./client.js";
import type { RemoteForTurn } from "./job.js";

/** What the calls of one turn have in common. */
interface CallsInTurn {
  readonly remote: RemoteForTurn;
  /** Ends them. */
  readonly signal: AbortSignal;
  /** Ends streams: the turn is over. */
  readonly end: AbortSignal;
  /** Streams that have begun, and are not over. */
  readonly open: Set<AsyncGenerator<unknown, unknown>>;
  /** For calls with one answer, in milliseconds. */
  readonly timeoutMs: number;
  /** Until the deadline of the turn's caller, in milliseconds; Infinity where there is none. */
  readonly msLeft: () => number;
  /** Counts a call that begins; the result counts it down. */
  readonly enter: () => () => void;
}

/** The client of another agent, for one turn. Each call asks for the connected one: it may be another one by then. */
export function remoteAgent(card: AgentCard, calls: CallsInTurn): RemoteAgent {
  const methods = A2AService.methods.map(({ localName, methodKind }) => {
    const methodOf: MethodOf = (client) => client[localName as keyof RemoteAgent] as unknown as Method;
    return [localName, methodKind === "unary" ? unary(methodOf, calls) : streaming(methodOf, calls)];
  });
  return {
    ...Object.fromEntries(methods),
    card,
    // A send that waits for its task may take its time.
    send: (message, options) => counted(calls, (client) => client.send(message, optionsIn(calls, options))),
    stream: (message, options) => streamed(calls, options, (client, all) => client.stream(message, all)),
    follow: (taskId, options) => streamed(calls, options, (client, all) => client.follow(taskId, all)),
  } as RemoteAgent;
}

type Method = (request: unknown, options: ConnectOptions) => unknown;
type MethodOf = (client: SubTaskClient) => Method;

function unary(methodOf: MethodOf, calls: CallsInTurn): Method {
  const { timeoutMs } = calls;
  return (request, options) =>
    counted(
      calls,
      (client) =>
        methodOf(client)(request, optionsIn(calls, { timeoutMs, ...(options as RemoteOptions) })) as Promise<unknown>,
    );
}

function streaming(methodOf: MethodOf, calls: CallsInTurn): Method {
  return (request, options) =>
    streamed(
      calls,
      options as RemoteOptions,
      (client, all) => methodOf(client)(request, all) as AsyncIterable<unknown>,
    );
}

async function counted<T>(calls: CallsInTurn, call: (client: SubTaskClient) => Promise<T>): Promise<T> {
  const leave = calls.enter();
  try {
    return await call(await calls.remote.client());
  } finally {
    leave();
  }
}

type Opened<T> = (client: SubTaskClient, options: RemoteOptions & { headers: Headers }) => AsyncIterable<T>;

/** A stream that lasts as long as its turn, at most: whoever does not read on has nothing left open. */
function streamed<T>(
  calls: CallsInTurn,
  options: RemoteOptions | undefined,
  open: Opened<T>,
): AsyncGenerator<T, void, undefined> {
  const stream: AsyncGenerator<T, void, undefined> = counting(calls, options, open, () => stream);
  return stream;
}

async function* counting<T>(
  calls: CallsInTurn,
  options: RemoteOptions | undefined,
  open: Opened<T>,
  self: () => AsyncGenerator<T, void, undefined>,
): AsyncGenerator<T, void, undefined> {
  if (calls.end.aborted) throw new A2AError("CANCELLED", "The turn is over.");
  const leave = calls.enter();
  calls.open.add(self());
  try {
    const client = await calls.remote.client();
    const all = optionsIn(calls, options);
    share(calls.end);
    yield* open(client, { ...all, signal: AbortSignal.any([all.signal, calls.end]) });
  } catch (error) {
    // Nobody may be there any more who would take an error.
    if (!calls.end.aborted) throw error;
  } finally {
    calls.open.delete(self());
    leave();
  }
}

/** What the call says itself stands, but for what the turn decides. */
function optionsIn(
  { remote, signal, msLeft }: CallsInTurn,
  options: RemoteOptions = {},
): Required<Pick<RemoteOptions, "signal">> & RemoteOptions & { headers: Headers } {
  const headers = new Headers(options.headers);
  remote.headers().forEach((value, name) => {
    headers.set(name, value);
  });
  const { signal: own, timeoutMs = 0 } = options;
  // 0 is no end. One that has passed has ended the turn, which is told of it now.
  const ms = Math.min(timeoutMs > 0 ? timeoutMs : Number.POSITIVE_INFINITY, Math.max(1, msLeft()));
  return {
    ...options,
    ...(Number.isFinite(ms) && { timeoutMs: ms }),
    headers,
    signal: own === undefined ? signal : AbortSignal.any([signal, own]),
  };
}
