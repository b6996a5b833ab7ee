import type { AddressInfo } from "node:net";
import fastify from "fastify";
import { createA2A } from "parley-a2a";
import { parleyFastify } from "parley-a2a/fastify";
import { memoryStore } from "parley-a2a/store/memory";
import { greeter, type Running } from "./greeter.js";

/** An agent beside the routes of a Fastify app. */
export async function start(port: number): Promise<Running> {
  const a2a = createA2A({ agent: greeter, store: memoryStore() });
  await a2a.start();
  const app = fastify();
  app.get("/", async () => "An app of its own.");
  app.register(parleyFastify, { a2a });
  await app.listen({ port });
  return {
    port: (app.server.address() as AddressInfo).port,
    stop: async () => {
      await a2a.close();
      await app.close();
    },
  };
}
