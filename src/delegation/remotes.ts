import { type CallingTurn, isSend, type ParentTask, type RelayCheckpoint } from "../agent/delegation.js";
import { ownRefusal } from "../client/credentials/own-refusal.js";
import { within } from "../core/async.js";
import { A2AError } from "../core/error.js";
import type { Limits } from "../core/limits.js";
import { type Logger, logFacts } from "../core/log.js";
import { decrement, increment } from "../core/maps.js";
import { parseUrl } from "../core/net.js";
import type { OpenTelemetryApi } from "../telemetry/api.js";
import type { Tracing } from "../telemetry/tracing.js";
import { DELEGATION_DEPTH } from "../wire/service-params.js";
import type { SubTaskClient } from "./client.js";
import { taskBegunBy } from "./existing-send.js";
import type { RemoteForTurn } from "./job.js";
import type { RemoteAgentOptions, RemoteAgents } from "./options.js";

/** Fixed limits of calls of other agents. */
export const remoteBounds = {
  /** Depth of agents that call agents, which ends circles. */
  maxDepth: 8,
  /** Calls of other agents in progress, with delegations. */
  maxCalls: 10_000,
  /** Clients that are kept, besides those of configured agents. */
  maxAgents: 256,
  /** Time without an event after which a stream is reopened. */
  stallMs: 120_000,
  /** Time for which an unreachable agent is retried before a delegation fails. */
  maxOutageMs: 300_000,
} as const;

/** Limits of calls of other agents. */
export type RemoteLimits = Pick<Limits, "remoteTimeoutMs" | "cancelGraceMs">;

/** Creates the client of another agent. Its modules are imported then, only by servers whose agents call others. */
export type ConnectRemote = (
  agent: RemoteAgentOptions,
  limits: RemoteLimits,
  telemetry: OpenTelemetryApi | false,
) => Promise<SubTaskClient>;

/** Dependencies of calls of other agents. */
export interface RemotesOptions {
  readonly agents: RemoteAgents;
  readonly limits: RemoteLimits;
  readonly logger: Logger;
  /** Returns the name of the agent that serves a tenant, for log lines. */
  readonly agentName: (tenant: string) => string | undefined;
  readonly connect: ConnectRemote;
  /** Creates spans of calls. Default: none. */
  readonly tracing?: Tracing | undefined;
}

/** Time for pending cancels of sub-tasks at shutdown, in milliseconds. */
const MAX_CANCEL_MS = 1_000;

/** The other agents of a server: one client each, created at the first call and closed with the server. */
export class Remotes {
  readonly #options: RemotesOptions;
  /** By name. */
  readonly #agents: Map<string, string | RemoteAgentOptions>;
  readonly #clients = new Map<string, Promise<SubTaskClient>>();
  /** Clients of removed and replaced agents that calls in progress use. */
  readonly #retired = new Map<string, Promise<SubTaskClient>[]>();
  readonly #canceling = new Set<Promise<unknown>>();
  #running = 0;
  /** Number of open calls per agent. */
  readonly #uses = new Map<string, number>();
  #isClosed = false;

  constructor(options: RemotesOptions) {
    this.#options = options;
    this.#agents = new Map(Object.entries(options.agents));
  }

  get names(): readonly string[] {
    return [...this.#agents.keys()];
  }

  /** True if an agent gets its callers' tokens. */
  get passesCallers(): boolean {
    for (const agent of this.#agents.values()) if (typeof agent === "object" && agent.passCaller === true) return true;
    return false;
  }

  /** Adds an agent, or replaces the one of the name. */
  add(name: string, agent: string | RemoteAgentOptions): void {
    this.#retire(name);
    this.#agents.set(name, agent);
  }

  /** Removes an agent; false if none has the name. */
  remove(name: string): boolean {
    this.#retire(name);
    return this.#agents.delete(name);
  }

  /**
   * Returns another agent for the calls of a turn.
   * @throws A2AError UNSUPPORTED_OPERATION if the maximum delegation depth is reached
   */
  for(turn: CallingTurn, name: string): RemoteForTurn {
    const agent = this.#agent(name);
    const { delegationDepth = 0, traceParent, traceState, bearer } = turn.request;
    const depth = delegationDepth + 1;
    const { maxDepth } = remoteBounds;
    if (depth > maxDepth) {
      throw new A2AError(
        "UNSUPPORTED_OPERATION",
        `The work was handed from agent to agent more than ${maxDepth} times.`,
        {
          metadata: { limit: "maxDelegationDepth", maxDelegationDepth: String(maxDepth) },
        },
      );
    }
    const passesCaller = agent.passCaller === true;
    return {
      passesCaller,
      lacksCaller: passesCaller && bearer === undefined,
      client: () => this.#client(name),
      headers: () => {
        const headers = new Headers({ [DELEGATION_DEPTH]: String(depth) });
        if (traceParent !== "") headers.set("traceparent", traceParent);
        if (traceState !== "") headers.set("tracestate", traceState);
        if (passesCaller && bearer !== undefined) headers.set("authorization", `Bearer ${bearer.reveal()}`);
        return headers;
      },
    };
  }

  /** Counts a delegation or a call of an agent; the returned function ends it. @throws A2AError TOO_MANY_REQUESTS */
  acquire(name: string): () => void {
    const { maxCalls } = remoteBounds;
    if (this.#running >= maxCalls) {
      throw new A2AError("TOO_MANY_REQUESTS", "Too many calls of other agents are under way.", {
        metadata: { limit: "maxRemoteCalls", maxRemoteCalls: String(maxCalls) },
      });
    }
    this.#running++;
    increment(this.#uses, name);
    return () => {
      this.#running--;
      if (decrement(this.#uses, name) > 0) return;
      for (const client of this.#retired.get(name) ?? []) closeClient(client);
      this.#retired.delete(name);
    };
  }

  /** Cancels another agent's unneeded task in the background: one attempt, if it is reachable. */
  async cancelSubTask(checkpoint: RelayCheckpoint, task: ParentTask): Promise<void> {
    const { agent: remote } = checkpoint;
    if ((checkpoint.taskId === "" && !isSend(checkpoint)) || this.#isClosed) return;
    const cancel = async (): Promise<void> => {
      const { remoteTimeoutMs: timeoutMs } = this.#options.limits;
      const client = await this.#client(remote);
      const id = checkpoint.taskId || (await taskBegunBy(client, checkpoint, { timeoutMs }))?.id;
      if (id !== undefined) await client.cancelTask({ id }, { timeoutMs });
    };
    const canceling = cancel().catch((error: unknown) => {
      const { logger, agentName } = this.#options;
      const facts = logFacts({ ...task, agent: agentName(task.tenant) });
      logger.debug({ err: error, remote, ...facts }, "a sub-task could not be canceled at its agent");
    });
    this.#canceling.add(canceling);
    await canceling;
    this.#canceling.delete(canceling);
  }

  /** Closes all connections, after a short time for pending cancels. */
  async close(): Promise<void> {
    await within(Math.min(MAX_CANCEL_MS, this.#options.limits.cancelGraceMs), Promise.all(this.#canceling));
    this.#isClosed = true;
    const clients = [...this.#clients.values(), ...[...this.#retired.values()].flat()];
    this.#clients.clear();
    this.#retired.clear();
    await Promise.allSettled(clients.map(async (client) => (await client).close()));
  }

  #agent(name: string): RemoteAgentOptions {
    const known = this.#agents.get(name);
    if (typeof known === "object") return known;
    const url = known ?? name;
    if (parseUrl(url) !== undefined && /^https?:/.test(url)) return { url };
    throw new TypeError(`The server's remoteAgents have no agent ${JSON.stringify(name)}, and it is not a URL.`);
  }

  #client(name: string): Promise<SubTaskClient> {
    const known = this.#clients.get(name);
    if (known !== undefined) return known;
    if (this.#isClosed) return Promise.reject(new A2AError("UNAVAILABLE", "The server ends."));
    const { connect, limits, tracing } = this.#options;
    const made = connect(this.#agent(name), limits, tracing?.api ?? false).catch((error: unknown) => {
      // The request for the card never carries the caller's token, so another token would be rejected as well.
      throw ownRefusal(error);
    });
    this.#clients.set(name, made);
    this.#forgetIdle();
    made.catch(() => {
      if (this.#clients.get(name) === made) this.#clients.delete(name);
    });
    return made;
  }

  /** Evicts idle clients of agents named by URL, whose number is unlimited. Configured ones are kept. */
  #forgetIdle(): void {
    const others = [...this.#clients.keys()].filter((name) => !this.#agents.has(name));
    const idle = others.slice(0, -1).filter((name) => !this.#uses.has(name));
    for (const name of idle.slice(0, Math.max(0, others.length - remoteBounds.maxAgents))) {
      const client = this.#clients.get(name);
      this.#clients.delete(name);
      if (client !== undefined) closeClient(client);
    }
  }

  /** Closes the client of an agent that is removed or replaced, after the calls that use it. */
  #retire(name: string): void {
    const client = this.#clients.get(name);
    if (client === undefined) return;
    this.#clients.delete(name);
    if (this.#uses.has(name)) this.#retired.set(name, [...(this.#retired.get(name) ?? []), client]);
    else closeClient(client);
  }
}

function closeClient(client: Promise<SubTaskClient>): void {
  client.then((connected) => connected.close()).catch(() => {});
}
