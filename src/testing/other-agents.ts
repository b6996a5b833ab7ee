import type { Agent } from "../agent/agent.js";
import type { RemoteAgents } from "../delegation/options.js";
import { type A2A, createA2A } from "../server/create-a2a.js";
import { memoryStore } from "../store/memory/index.js";

/** Agents that the agent under test calls. The calls use the whole server except sockets. */
export class OtherAgents {
  readonly remoteAgents: RemoteAgents;
  readonly #served: A2A[] = [];

  constructor(agents: Readonly<Record<string, Agent | RemoteAgents[string]>>) {
    this.remoteAgents = Object.fromEntries(
      Object.entries(agents).map(([name, agent], at) => [name, isAgent(agent) ? this.#serve(agent, at) : agent]),
    );
  }

  async close(): Promise<void> {
    await Promise.all(this.#served.map((served) => served.close({ graceMs: 0 })));
  }

  #serve(agent: Agent, at: number): RemoteAgents[string] {
    const url = `http://agent-${at}.localhost`;
    const served = createA2A({ agent, store: memoryStore(), publicUrl: url, cardGrpc: "omit", audit: false });
    this.#served.push(served);
    const fetch: typeof globalThis.fetch = (input, init) => served.fetch(new Request(input, init));
    return { url, fetch };
  }
}

function isAgent(agent: Agent | RemoteAgents[string]): agent is Agent {
  return typeof agent === "object" && "execute" in agent;
}
