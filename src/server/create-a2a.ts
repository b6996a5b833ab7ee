import type { AgentCard } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { GrpcBinding } from "../binding/grpc/embedded/binding.js";
import type { Call } from "../core/call.js";
import { lazyImport } from "../core/lazy.js";
import type { RemoteAgentRegistry } from "../delegation/options.js";
import type { FetchHandler } from "../http/fetch/handler.js";
import type { NodeHandler } from "../http/node/handler.js";
import type { PushControl } from "../push/dead-letters.js";
import type { Invoke } from "../service/invoke.js";
import { noteMetrics } from "../telemetry/registry.js";
import { type ConnectMount, composeNode, type NodeComponents } from "./compose-node.js";
import type { Readiness } from "./health.js";
import type { A2AOptions, AdminSettings, ConsoleSettings, Settings } from "./options.js";
import { createProxies } from "./proxies.js";
import { resolveOptions } from "./resolve-options.js";

/** Options of `close()`. */
export interface CloseOptions {
  /** Grace period for running work and open calls, in milliseconds. Default `limits.shutdownGraceMs`. */
  readonly graceMs?: number;
}

/** Members that mounted instances share with servers that have their own ports. */
export interface RunningAgents {
  /** Push notifications that were given up, and deliveries of this process; undefined without the option `push`. */
  readonly push: PushControl | undefined;
  /** The agents that `turn.call` and `turn.delegate` may name, to add and remove some while the server runs. */
  readonly remoteAgents: RemoteAgentRegistry;
  /** Number of tasks that run in this process. */
  readonly running: number;
  /** Calls the listener at every change of the readiness. The returned function removes it. */
  onReadiness(listener: (readiness: Readiness) => void): () => void;
  /**
   * Fires after the store has failed for `limits.storeRecoveryMs` and only opening it again may help, for example after
   * its file was removed: close, and create a new instance. `reason` is the error. It is a signal because late listeners see
   * it too (`aborted`), and because it does not end a process without a listener, as an "error" event would.
   */
  readonly failureSignal: AbortSignal;
}

/** Agents to mount in an existing server. It opens no port. */
export interface A2A extends RunningAgents {
  /**
   * Handler for Express, node:http, node:http2 and, with a few lines more, Fastify. It serves every HTTP binding and
   * the card. Mount it at the root, because clients look for the card there; or below a path, and at the root for the
   * path of the card only. Requests that do not match go to `next`; without `next` they are answered with "not found".
   */
  readonly handler: NodeHandler;
  /**
   * Handler for runtimes and frameworks of the Fetch API. It serves every HTTP binding except gRPC, which needs
   * trailers, the card, `/healthz` and `/readyz`. Other requests are answered with "not found".
   */
  readonly fetch: FetchHandler;
  /**
   * Options for a server with Connect, as `connectNodeAdapter(a2a.connect)` takes them. They serve Connect, gRPC-Web
   * and gRPC. An adapter with other options or services takes `{ ...a2a.connect, … }`, or both members.
   */
  readonly connect: ConnectMount;
  /** Service for a grpc-js server: `server.addService(grpc.definition, grpc.implementation)`. */
  readonly grpc: GrpcBinding;
  /**
   * The operator's service, for a path or a server that only operators reach; undefined without the option `admin`.
   */
  readonly admin: AdminMount | undefined;
  /** The console, whose path is `/console` below that of its handler; undefined without the option `console`. */
  readonly console: ConsoleMount | undefined;
  /** The service itself, for a binding of your own. */
  readonly invoke: Invoke;
  /**
   * Returns the card of the call's agent, with the addresses for its caller; without a call, the card of the first
   * agent. If cards are signed, it has signatures after `start` has resolved.
   */
  card(call?: Call): AgentCard;
  /** State for the health checks of the host; `unavailable` while the store cannot be written. */
  readonly readiness: Readiness;
  /**
   * Begins to recover the tasks that a crash interrupted, in the background. The first call does so too. It rejects if
   * the store cannot be used, and after `close`.
   */
  start(): Promise<void>;
  /**
   * Refuses new calls, ends streams and running work, and closes the store. The instance cannot start again. It rejects
   * if a step fails, at the latest a little more than 5 seconds after the grace period; the error names
   * the unfinished work.
   */
  close(options?: CloseOptions): Promise<void>;
}

/** The operator's service, to mount in an existing server. */
export interface AdminMount {
  /**
   * Handler for Express, node:http and node:http2. It serves REST, Connect, gRPC-Web, gRPC over HTTP/2, health checks
   * and metrics.
   */
  readonly handler: NodeHandler;
  /** Handler for runtimes and frameworks of the Fetch API. It serves the same except gRPC. */
  readonly fetch: FetchHandler;
}

/** The console, to mount in an existing server. */
export interface ConsoleMount {
  /** Handler for Express, node:http and node:http2. */
  readonly handler: NodeHandler;
  /** Handler for runtimes and frameworks of the Fetch API. */
  readonly fetch: FetchHandler;
}

/** Returns handlers that load the operator's service with the first request. */
function adminMountOf(settings: Settings, admin: AdminSettings, components: NodeComponents): AdminMount {
  const mount = lazyImport(async () => {
    const { composeAdmin } = await import("./admin.js");
    return composeAdmin(settings, admin, components, createProxies(settings.trust, settings.proxyHeaders));
  });
  return lazyMount(mount, (error) => settings.logger.error({ err: error }, "the operator's service is not loaded"));
}

/** Returns the handlers of the console, which is loaded at once to show its link. */
function consoleMountOf(
  settings: Settings,
  options: ConsoleSettings,
  components: NodeComponents,
): { readonly handlers: ConsoleMount; readonly close: () => void } {
  const mount = lazyImport(async () => {
    const { composeConsoleMount } = await import("./console-mount.js");
    return composeConsoleMount(settings, options, components);
  });
  const failed = (error: unknown): void => settings.logger.error({ err: error }, "the console is not loaded");
  mount().catch(failed);
  return {
    handlers: lazyMount(mount, failed),
    close: () =>
      void mount().then(
        ({ close }) => close(),
        () => {},
      ),
  };
}

/** Returns handlers that wait for those that are loaded. */
function lazyMount(mount: () => Promise<AdminMount>, failed: (error: unknown) => void): AdminMount {
  return {
    handler: (request, response, next) => {
      mount().then(
        ({ handler }) => handler(request, response, next),
        (error: unknown) => {
          failed(error);
          response.statusCode = 503;
          response.end();
        },
      );
    },
    fetch: async (request, origin) => {
      try {
        return await (await mount()).fetch(request, origin);
      } catch (error) {
        failed(error);
        return new Response(null, { status: 503 });
      }
    },
  };
}

/**
 * Serves agents in an existing server.
 *
 * @throws ConfigurationError that names every wrong option and every fault of a card.
 */
export function createA2A(options: A2AOptions): A2A {
  const settings = resolveOptions(options, false);
  const components = composeNode(settings);
  const { handler, fetch, connect, grpc, invoke, card, lifecycle, push, remoteAgents } = components;
  const console = settings.console && consoleMountOf(settings, settings.console, components);
  let grpcBinding: GrpcBinding | undefined;
  const a2a: A2A = {
    handler,
    fetch,
    connect,
    get grpc() {
      grpcBinding ??= grpc();
      return grpcBinding;
    },
    admin: settings.admin && adminMountOf(settings, settings.admin, components),
    console: console?.handlers,
    invoke,
    card,
    push,
    remoteAgents,
    get running() {
      return lifecycle.running;
    },
    get readiness() {
      return lifecycle.readiness;
    },
    onReadiness: (listener) => lifecycle.onReadiness(listener),
    failureSignal: lifecycle.failureSignal,
    start: () => lifecycle.start(),
    close: ({ graceMs = settings.limits.shutdownGraceMs } = {}) => {
      console?.close();
      return lifecycle.close(graceMs);
    },
  };
  noteMetrics(a2a, settings.metrics);
  return a2a;
}
