import { type CallingTurn, isSend, type RelayMark } from "../agent/delegation.js";
import { ownRefusal } from "../client/credentials/own-refusal.js";
import { within } from "../core/async.js";
import { A2AError } from "../core/error.js";
import type { Limits } from "../core/limits.js";
import type { Logger } from "../core/log.js";
import { DELEGATION_DEPTH } from "../wire/service-params.js";
import { taskBegunBy } from "./begun-before.js";
import type { SubTaskClient } from "./client.js";
import type { RemoteForTurn } from "./job.js";
import type { RemoteAgentOptions, RemoteAgents } from "./options.js";

/** What of the limits concerns calls of other agents. */
export type RemoteLimits = Pick<
  Limits,
  | "maxDelegationDepth"
  | "maxRemoteAgents"
  | "maxRemoteCalls"
  | "remoteTimeoutMs"
  | "remoteStallMs"
  | "maxRemoteOutageMs"
  | "cancelGraceMs"
>;

/** Makes the client of another agent: what it needs is loaded then, by servers whose agents call others. */
export type ConnectRemote = (agent: RemoteAgentOptions, limits: RemoteLimits) => Promise<SubTaskClient>;

/** What is needed to call other agents. */
export interface RemotesOptions {
  readonly agents: RemoteAgents;
  readonly limits: RemoteLimits;
  readonly logger: Logger;
  readonly connect: ConnectRemote;
}

/** What cancels of sub-tasks that are left have at the end of the server, in milliseconds. */
const LEAVE_MS = 1_000;

/** The other agents of a server: one client each, made at the first call, and closed with the server. */
export class Remotes {
  readonly #options: RemotesOptions;
  readonly #clients = new Map<string, Promise<SubTaskClient>>();
  readonly #leaving = new Set<Promise<unknown>>();
  #running = 0;
  /** How many calls of each are under way. */
  readonly #uses = new Map<string, number>();
  #isClosed = false;

  constructor(options: RemotesOptions) {
    this.#options = options;
  }

  /**
   * Another agent for the calls of a turn.
   * @throws A2AError UNSUPPORTED_OPERATION when the work was handed on too often
   */
  for(turn: CallingTurn, name: string): RemoteForTurn {
    const agent = this.#agent(name);
    const { delegationDepth = 0, traceParent, bearer } = turn.request;
    const depth = delegationDepth + 1;
    const { maxDelegationDepth } = this.#options.limits;
    if (depth > maxDelegationDepth) {
      throw new A2AError(
        "UNSUPPORTED_OPERATION",
        `The work was handed from agent to agent more than ${maxDelegationDepth} times (limits.maxDelegationDepth).`,
        {
          metadata: { limit: "maxDelegationDepth", maxDelegationDepth: String(maxDelegationDepth) },
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
        if (passesCaller && bearer !== undefined) headers.set("authorization", `Bearer ${bearer.reveal()}`);
        return headers;
      },
    };
  }

  /** Counts a delegation, or a call, of an agent that begins. The result counts it down. @throws A2AError TOO_MANY_REQUESTS */
  enter(name: string): () => void {
    const { maxRemoteCalls } = this.#options.limits;
    if (this.#running >= maxRemoteCalls) {
      throw new A2AError("TOO_MANY_REQUESTS", "Too many calls of other agents are under way.", {
        metadata: { limit: "maxRemoteCalls", maxRemoteCalls: String(maxRemoteCalls) },
      });
    }
    this.#running++;
    this.#uses.set(name, (this.#uses.get(name) ?? 0) + 1);
    return () => {
      this.#running--;
      const uses = (this.#uses.get(name) ?? 1) - 1;
      if (uses > 0) this.#uses.set(name, uses);
      else this.#uses.delete(name);
    };
  }

  /** Cancels another agent's task that is of no use any more, beside everything else: once, and as far as it can be reached. */
  async leave(mark: RelayMark): Promise<void> {
    const { agent } = mark;
    if ((mark.taskId === "" && !isSend(mark)) || this.#isClosed) return;
    const cancel = async (): Promise<void> => {
      const { remoteTimeoutMs: timeoutMs } = this.#options.limits;
      const client = await this.#client(agent);
      const id = mark.taskId || (await taskBegunBy(client, mark, { timeoutMs }))?.id;
      if (id !== undefined) await client.cancelTask({ id }, { timeoutMs });
    };
    const leaving = cancel().catch((error: unknown) => {
      this.#options.logger.debug({ err: error, agent }, "another agent's task that is left was not canceled");
    });
    this.#leaving.add(leaving);
    await leaving;
    this.#leaving.delete(leaving);
  }

  /** Closes all connections. What is being canceled gets a moment. */
  async close(): Promise<void> {
    await within(Math.min(LEAVE_MS, this.#options.limits.cancelGraceMs), Promise.all(this.#leaving));
    this.#isClosed = true;
    const clients = [...this.#clients.values()];
    this.#clients.clear();
    await Promise.allSettled(clients.map(async (client) => (await client).close()));
  }

  #agent(name: string): RemoteAgentOptions {
    const known = Object.hasOwn(this.#options.agents, name) ? this.#options.agents[name] : undefined;
    if (typeof known === "object") return known;
    const url = known ?? name;
    if (URL.canParse(url) && /^https?:/.test(url)) return { url };
    throw new TypeError(`The server's remoteAgents have no agent ${JSON.stringify(name)}, and it is no URL.`);
  }

  #client(name: string): Promise<SubTaskClient> {
    const known = this.#clients.get(name);
    if (known !== undefined) return known;
    if (this.#isClosed) return Promise.reject(new A2AError("UNAVAILABLE", "The server ends."));
    const made = this.#options.connect(this.#agent(name), this.#options.limits).catch((error: unknown) => {
      // The request for the card never has the caller's token, so another token would be refused as well.
      throw ownRefusal(error);
    });
    this.#clients.set(name, made);
    this.#forgetIdle();
    made.catch(() => {
      if (this.#clients.get(name) === made) this.#clients.delete(name);
    });
    return made;
  }

  /** Those that authors name by URL may be any number; the ones of the options stay, and so do those that are in use. */
  #forgetIdle(): void {
    const others = [...this.#clients.keys()].filter((name) => !Object.hasOwn(this.#options.agents, name));
    const idle = others.slice(0, -1).filter((name) => !this.#uses.has(name));
    for (const name of idle.slice(0, Math.max(0, others.length - this.#options.limits.maxRemoteAgents))) {
      const client = this.#clients.get(name);
      this.#clients.delete(name);
      client?.then((connected) => connected.close()).catch(() => {});
    }
  }
}
