import type { AddressInfo } from "node:net";
import fastify from "fastify";
import { createA2A } from "parley-a2a";
import { parleyFastify } from "parley-a2a/fastify";
import { memoryStore } from "parley-a2a/store/memory";
import { greeter, type Running } from "./greeter.js";

const card = "/.well-known/agent-card.json";

/** An agent below a path of a Fastify app, whose card is at the root as well. */
export async function start(port: number): Promise<Running> {
  const a2a = createA2A({ agent: greeter, store: memoryStore() });
  await a2a.start();
  // Clients look for the card of a host here.
  const app = fastify({ rewriteUrl: ({ url = "/" }) => (url === card ? `/agents${card}` : url) });
  app.get("/", async () => "An app of its own.");
  app.get("/ready", async (_request, reply) => reply.code(a2a.readiness === "ready" ? 200 : 503).send());
  app.register(parleyFastify, { a2a, prefix: "/agents" });
  await app.listen({ port });
  return {
    port: (app.server.address() as AddressInfo).port,
    stop: async () => {
      await a2a.close();
      await app.close();
    },
  };
}
