import type { CallOptions as ConnectOptions } from "@connectrpc/connect";
import { A2AService } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { RemoteAgent } from "../agent/delegation.js";
import type { SubTaskClient } from "./client.js";
import type { RemoteForTurn } from "./delegate.js";

/** What the calls of one turn have in common. */
interface CallsInTurn {
  readonly remote: RemoteForTurn;
  /** Ends them. */
  readonly signal: AbortSignal;
  /** For calls with one answer, in milliseconds. */
  readonly timeoutMs: number;
  /** Counts a call that begins; the result counts it down. */
  readonly enter: () => () => void;
}

/** The client of another agent, for one turn. */
export function remoteAgent(client: SubTaskClient, calls: CallsInTurn): RemoteAgent {
  const methods = A2AService.methods.map(({ localName, methodKind }) => {
    const method = client[localName as keyof RemoteAgent] as unknown as Method;
    return [localName, methodKind === "unary" ? unary(method, calls) : streaming(method, calls)];
  });
  return { ...Object.fromEntries(methods), card: client.card } as RemoteAgent;
}

type Method = (request: unknown, options: ConnectOptions) => unknown;

function unary(method: Method, calls: CallsInTurn): Method {
  return async (request, options = {}) => {
    const leave = calls.enter();
    try {
      return await method(request, { timeoutMs: calls.timeoutMs, ...optionsIn(calls, options) });
    } finally {
      leave();
    }
  };
}

function streaming(method: Method, calls: CallsInTurn): Method {
  return async function* (request, options = {}) {
    const leave = calls.enter();
    try {
      yield* method(request, optionsIn(calls, options)) as AsyncIterable<unknown>;
    } finally {
      leave();
    }
  };
}

/** What the call says itself goes first, but for what the turn decides. */
function optionsIn({ remote, signal }: CallsInTurn, options: ConnectOptions): ConnectOptions {
  const headers = new Headers(options.headers);
  remote.headers().forEach((value, name) => {
    headers.set(name, value);
  });
  const { signal: own } = options;
  return { ...options, headers, signal: own === undefined ? signal : AbortSignal.any([signal, own]) };
}
