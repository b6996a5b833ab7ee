import type { Agent, Turn } from "../../src/agent/agent.js";
import type { AgentEvent } from "../../src/agent/event.js";
import { createServer, type Server, type ServerOptions } from "../../src/index.js";
import { memoryStore } from "../../src/store/memory/index.js";

/** Creates an agent that runs the function for each turn. */
export function agentOf(
  name: string,
  execute: (turn: Turn) => AsyncIterable<AgentEvent>,
  more: Partial<Agent> = {},
): Agent {
  return { card: { name, description: "An agent under test.", version: "1.0.0" }, execute, ...more };
}

/** Servers on free ports, closed together. */
export class Servers {
  readonly #open: Server[] = [];

  async serve(agent: Agent, options: Partial<ServerOptions> = {}): Promise<Server> {
    const server = await createServer({ agent, store: memoryStore(), port: 0, grpcPort: 0, ...options });
    this.#open.push(server);
    return server;
  }

  async close(): Promise<void> {
    await Promise.all(this.#open.splice(0).map((server) => server.close({ graceMs: 0 })));
  }
}
