import type { AgentCard } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { ConfigurationError } from "../card/faults.js";
import type { Call } from "../core/call.js";
import type { RemoteAgentRegistry } from "../delegation/options.js";
import { createFetchHandler, type FetchHandler } from "../http/fetch/handler.js";
import type { Invoke } from "../service/invoke.js";
import { noteMetrics } from "../telemetry/registry.js";
import { compose } from "./compose.js";
import { healthRoute, type Readiness } from "./health.js";
import type { A2AOptions } from "./options.js";
import { resolveOptions } from "./resolve-options.js";

/** Agents behind one function of the Fetch API. */
export interface FetchA2A {
  /** Every HTTP binding except gRPC, the card, `/healthz` and `/readyz`. Other requests are answered with 404. */
  readonly fetch: FetchHandler;
  /** The service itself, for a binding of your own. */
  readonly invoke: Invoke;
  /**
   * Returns the card of the call's agent, with the addresses for its caller; without a call, the card of the first
   * agent. If cards are signed, it has signatures after `start` has resolved.
   */
  card(call?: Call): AgentCard;
  /** The agents that `turn.call` and `turn.delegate` may name, to add and remove some while the server runs. */
  readonly remoteAgents: RemoteAgentRegistry;
  /** State for health checks; `unavailable` while the store cannot be written. */
  readonly readiness: Readiness;
  /** Begins to recover the tasks that a crash interrupted, in the background. The first call does so too. */
  start(): Promise<void>;
  /** Refuses new calls, ends streams and running work, and closes the store. */
  close(options?: { readonly graceMs?: number }): Promise<void>;
}

/**
 * Serves agents by the Fetch API, like `createA2A` of `parley-a2a`, but without the handler for Node.js requests, gRPC,
 * push notifications, and compression of Connect and gRPC-Web.
 *
 * @throws ConfigurationError that names every wrong option and every fault of a card.
 */
export function createFetchA2A(options: A2AOptions): FetchA2A {
  const settings = resolveOptions(options, false);
  if (settings.push !== undefined) {
    throw new ConfigurationError("Invalid options", [
      "push needs Node.js: createA2A of parley-a2a, which has `fetch` too",
    ]);
  }
  for (const name of ["admin", "console"] as const) {
    if (settings[name] === undefined) continue;
    throw new ConfigurationError("Invalid options", [
      `${name} needs Node.js: createA2A of parley-a2a, which has \`fetch\` too`,
    ]);
  }
  const { binding, dispatch, card, lifecycle, remoteAgents } = compose(settings, {
    connect: async (...agent) => (await import("../delegation/connect-web.js")).connectWeb(...agent),
  });
  const a2a: FetchA2A = {
    fetch: createFetchHandler(dispatch([healthRoute(lifecycle)]), settings.logger),
    invoke: binding.invoke,
    card,
    remoteAgents,
    get readiness() {
      return lifecycle.readiness;
    },
    start: () => lifecycle.start(),
    close: ({ graceMs = settings.limits.shutdownGraceMs } = {}) => lifecycle.close(graceMs),
  };
  noteMetrics(a2a, settings.metrics);
  return a2a;
}
