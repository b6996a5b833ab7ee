import type { AgentCard } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { GrpcBinding } from "../binding/grpc/embedded/binding.js";
import type { Call } from "../core/call.js";
import type { FetchHandler } from "../http/fetch/handler.js";
import type { NodeHandler } from "../http/node/handler.js";
import type { PushControl } from "../push/control.js";
import type { Invoke } from "../service/invoke.js";
import { type ConnectMount, composeNode } from "./compose-node.js";
import type { Readiness } from "./health.js";
import type { A2AOptions } from "./options.js";
import { resolveOptions } from "./resolve-options.js";

/** Options of `close()`. */
export interface CloseOptions {
  /** How long running work and open calls have to finish, in milliseconds. Default `limits.shutdownGraceMs`. */
  readonly graceMs?: number;
}

/** Agents to mount in an existing server. It opens no port. */
export interface A2A {
  /**
   * For Express, node:http, node:http2 and, with a few lines more, Fastify: every HTTP binding and the card. Mount it at the
   * root, so that the card is where clients look for it; or below a path, and at the root for the path of the card only.
   * Requests that do not match go to `next`; without `next` they are answered with "not found".
   */
  readonly handler: NodeHandler;
  /**
   * For runtimes and frameworks of the Fetch API: every HTTP binding except gRPC, which needs trailers; the card, `/healthz`
   * and `/readyz`. Other requests are answered with "not found".
   */
  readonly fetch: FetchHandler;
  /**
   * For a server with Connect: Connect, gRPC-Web and gRPC, as `connectNodeAdapter(a2a.connect)` takes it. An adapter with
   * other options or services takes `{ ...a2a.connect, … }`, or both members.
   */
  readonly connect: ConnectMount;
  /** For a grpc-js server: `server.addService(grpc.definition, grpc.implementation)`. */
  readonly grpc: GrpcBinding;
  /** The service itself, for a binding of your own. */
  readonly invoke: Invoke;
  /**
   * The card of the agent that the call is for, as its caller sees it; without a call, the card of the first agent. Where cards
   * are signed it has its signatures once `start` has resolved.
   */
  card(call?: Call): AgentCard;
  /** Push notifications that were given up, and what this process delivers; undefined without the option `push`. */
  readonly push: PushControl | undefined;
  /** How many tasks are being executed in this process. */
  readonly running: number;
  /** Whether calls are served; `unavailable` while the store cannot be written. For the health checks of the host. */
  readonly readiness: Readiness;
  /** Calls the listener at every change of the readiness. The returned function removes it. */
  onReadiness(listener: (readiness: Readiness) => void): () => void;
  /**
   * Fires when the store has failed for `limits.storeRecoveryMs` and only opening it again may help, as when its file was
   * removed: close, and start again. `reason` is the error. A signal, because it tells late listeners too (`aborted`), and
   * unlike an "error" event or a rejected promise does not end a process that does not listen.
   */
  readonly failureSignal: AbortSignal;
  /**
   * Begins to recover the tasks that a crash interrupted, in the background. The first call does so too. It rejects when
   * the store cannot be used, and after `close`.
   */
  start(): Promise<void>;
  /**
   * Refuses new calls, ends streams and running work, and closes the store. It cannot be started again. It rejects when
   * not all of this could be done, at the latest a little more than `limits.closeTimeoutMs` after the grace period, and
   * says what was left.
   */
  close(options?: CloseOptions): Promise<void>;
}

/**
 * Serves agents in an existing server.
 *
 * @throws ConfigurationError that names every wrong option and every fault of a card.
 */
export function createA2A(options: A2AOptions): A2A {
  const settings = resolveOptions(options, false);
  const { handler, fetch, connect, grpc, invoke, card, lifecycle, push } = composeNode(settings);
  let grpcBinding: GrpcBinding | undefined;
  return {
    handler,
    fetch,
    connect,
    get grpc() {
      grpcBinding ??= grpc();
      return grpcBinding;
    },
    invoke,
    card,
    push,
    get running() {
      return lifecycle.running;
    },
    get readiness() {
      return lifecycle.readiness;
    },
    onReadiness: (listener) => lifecycle.onReadiness(listener),
    failureSignal: lifecycle.failureSignal,
    start: () => lifecycle.start(),
    close: ({ graceMs = settings.limits.shutdownGraceMs } = {}) => lifecycle.close(graceMs),
  };
}
