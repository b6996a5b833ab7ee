import { createFetchA2A } from "parley-a2a/fetch";
import { memoryStore } from "parley-a2a/store/memory";
import { greeter } from "./agent.ts";

/** A Durable Object: all requests meet in one place, where the tasks are. */
export class Agents {
  readonly #a2a = createFetchA2A({ agent: greeter, store: memoryStore(), basePath: "/agents" });

  fetch(request: Request): Promise<Response> {
    return this.#a2a.fetch(request, { remoteAddress: request.headers.get("cf-connecting-ip") ?? undefined });
  }
}

interface Env {
  readonly AGENTS: DurableObjectNamespace;
}

export default {
  async fetch(request: Request, { AGENTS }: Env): Promise<Response> {
    const { pathname } = new URL(request.url);
    if (pathname === "/") return new Response("An app of its own.");
    const agents = AGENTS.get(AGENTS.idFromName("all"));
    // Clients look for the card of a host here.
    if (pathname !== "/.well-known/agent-card.json") return agents.fetch(request);
    return agents.fetch(new Request(new URL(`/agents${pathname}`, request.url)));
  },
};
