import type { CallOptions as ConnectOptions } from "@connectrpc/connect";
import { A2AService, type AgentCard } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { RemoteAgent, RemoteOptions } from "../agent/delegation.js";
import { share } from "../core/async.js";
import { A2AError } from "../core/error.js";
import type { SubTaskClient } from "./client.js";
import type { RemoteForTurn } from "./job.js";

/** State shared by the calls of one turn. */
interface CallsInTurn {
  readonly remote: RemoteForTurn;
  /** Ends calls. */
  readonly signal: AbortSignal;
  /** Ends streams when the turn ends. */
  readonly end: AbortSignal;
  /** Open streams. */
  readonly open: Set<AsyncGenerator<unknown, unknown>>;
  /** Timeout of calls with one answer, in milliseconds. */
  readonly timeoutMs: number;
  /** Time left until the deadline of the turn's caller, in milliseconds; Infinity without one. */
  readonly msLeft: () => number;
  /** Counts a call; the returned function releases it. */
  readonly acquire: () => () => void;
}

/** Returns the client of another agent, for one turn. Each call uses the current connected client, which may change. */
export function remoteAgent(card: AgentCard, calls: CallsInTurn): RemoteAgent {
  const methods = A2AService.methods.map(({ localName, methodKind }) => {
    const methodOf: MethodOf = (client) => client[localName as keyof RemoteAgent] as unknown as ClientMethod;
    return [localName, methodKind === "unary" ? countedCall(methodOf, calls) : streaming(methodOf, calls)];
  });
  return {
    ...Object.fromEntries(methods),
    card,
    // Without `timeoutMs`, since a send that waits for its task may take long.
    send: (message, options) => counted(calls, (client) => client.send(message, optionsIn(calls, options))),
    stream: (message, options) => streamed(calls, options, (client, all) => client.stream(message, all)),
    follow: (taskId, options) => streamed(calls, options, (client, all) => client.follow(taskId, all)),
  } as RemoteAgent;
}

type ClientMethod = (request: unknown, options: ConnectOptions) => unknown;
type MethodOf = (client: SubTaskClient) => ClientMethod;

function countedCall(methodOf: MethodOf, calls: CallsInTurn): ClientMethod {
  const { timeoutMs } = calls;
  return (request, options) =>
    counted(
      calls,
      (client) =>
        methodOf(client)(request, optionsIn(calls, { timeoutMs, ...(options as RemoteOptions) })) as Promise<unknown>,
    );
}

function streaming(methodOf: MethodOf, calls: CallsInTurn): ClientMethod {
  return (request, options) =>
    streamed(
      calls,
      options as RemoteOptions,
      (client, all) => methodOf(client)(request, all) as AsyncIterable<unknown>,
    );
}

async function counted<T>(calls: CallsInTurn, call: (client: SubTaskClient) => Promise<T>): Promise<T> {
  const release = calls.acquire();
  try {
    return await call(await calls.remote.client());
  } finally {
    release();
  }
}

type Opened<T> = (client: SubTaskClient, options: RemoteOptions & { headers: Headers }) => AsyncIterable<T>;

/** Bounds a stream by its turn, so that an unread stream does not stay open. */
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
  const release = calls.acquire();
  calls.open.add(self());
  try {
    const client = await calls.remote.client();
    const all = optionsIn(calls, options);
    share(calls.end);
    yield* open(client, { ...all, signal: AbortSignal.any([all.signal, calls.end]) });
  } catch (error) {
    // The author may have stopped reading, so the error is dropped.
    if (!calls.end.aborted) throw error;
  } finally {
    calls.open.delete(self());
    release();
  }
}

/** Options of the call take precedence, except those that the turn determines. */
function optionsIn(
  { remote, signal, msLeft }: CallsInTurn,
  options: RemoteOptions = {},
): Required<Pick<RemoteOptions, "signal">> & RemoteOptions & { headers: Headers } {
  const headers = new Headers(options.headers);
  remote.headers().forEach((value, name) => {
    headers.set(name, value);
  });
  const { signal: own, timeoutMs = 0 } = options;
  // 0 means no timeout. An expired deadline has ended the turn, which is being notified.
  const ms = Math.min(timeoutMs > 0 ? timeoutMs : Number.POSITIVE_INFINITY, Math.max(1, msLeft()));
  return {
    ...options,
    ...(Number.isFinite(ms) && { timeoutMs: ms }),
    headers,
    signal: own === undefined ? signal : AbortSignal.any([signal, own]),
  };
}
