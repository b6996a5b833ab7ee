import type { ConnectRouter, ContextValues } from "@connectrpc/connect";
import type { AgentCard } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { GrpcBinding } from "../binding/grpc/binding.js";
import type { Call } from "../core/call.js";
import type { FetchHandler } from "../http/fetch/handler.js";
import type { NodeHandler } from "../http/node/handler.js";
import type { NodeServerRequest } from "../http/node/types.js";
import type { Invoke } from "../service/invoke.js";
import { composeNode } from "./compose-node.js";
import type { Readiness } from "./health.js";
import { type A2AOptions, resolveOptions } from "./options.js";

/** How to end. */
export interface CloseOptions {
  /** What running work and open calls get to end, in milliseconds. Default `limits.shutdownGraceMs`. */
  readonly graceMs?: number;
}

/** Agents ready to be mounted in a server of somebody else. It listens nowhere by itself. */
export interface A2A {
  /**
   * For Express, Fastify, node:http and node:http2: every HTTP binding and the card. Mount it at the root, so that the
   * card is where clients look for it; or mount it below a path, and at the root for the path of the card alone.
   * Requests that are for nobody here go to `next`, or are answered with "not found" where there is none.
   */
  readonly handler: NodeHandler;
  /**
   * For runtimes and frameworks of the Fetch API: every HTTP binding but gRPC proper, which needs trailers, the card, `/healthz`
   * and `/readyz`. Requests that are for nobody here are answered with "not found".
   */
  readonly fetch: FetchHandler;
  /** For a Connect router: Connect, gRPC-Web and gRPC. */
  readonly connectRoutes: (router: ConnectRouter) => void;
  /** The `contextValues` of the adapter around that router, so that calls know where they come from. */
  readonly connectContext: (request: NodeServerRequest) => ContextValues;
  /** For a grpc-js server: `server.addService(grpc.definition, grpc.implementation)`. */
  readonly grpc: GrpcBinding;
  /** The service itself, for a binding of one's own. */
  readonly invoke: Invoke;
  /** The card as whoever makes the call sees it, of the agent that the call is for; without a call, of the first. */
  card(call?: Call): AgentCard;
  /** How many agents are at work for a task in this process. */
  readonly running: number;
  /** Whether calls are served; `unavailable` while the store cannot be written. For the health checks of the host. */
  readonly readiness: Readiness;
  /** Calls back at every change of the readiness. The result takes the wish back. */
  onReadiness(listener: (readiness: Readiness) => void): () => void;
  /**
   * Resolves when the store has been out of order for `limits.storeRecoveryMs` and only opening it anew may help, as
   * when its file was removed: close, and start again. It stays pending otherwise.
   */
  readonly failure: Promise<Error>;
  /**
   * Begins to take over what a crash left behind, in the background. The first call does so, too. It rejects when the
   * store cannot be used, and after `close`.
   */
  start(): Promise<void>;
  /**
   * Refuses new calls, ends streams and running work, and closes the store: for good, what is closed does not start
   * again. It rejects when not all of it could be done, `limits.closeTimeoutMs` and a little after the grace at the
   * latest, and says what was left behind.
   */
  close(options?: CloseOptions): Promise<void>;
}

/**
 * Puts the parts together for a server that is there already.
 *
 * @throws ConfigurationError that names every wrong option and every fault of a card.
 */
export function createA2A(options: A2AOptions): A2A {
  const settings = resolveOptions(options, false);
  const { lifecycle, address: _, arrivals: _arrivals, ...mountable } = composeNode(settings);
  return {
    ...mountable,
    get running() {
      return lifecycle.running;
    },
    get readiness() {
      return lifecycle.readiness;
    },
    onReadiness: (listener) => lifecycle.onReadiness(listener),
    failure: lifecycle.failure,
    start: () => lifecycle.start(),
    close: ({ graceMs = settings.limits.shutdownGraceMs } = {}) => lifecycle.close(graceMs),
  };
}
