import type { AddressInfo } from "node:net";
import fastify from "fastify";
import { createA2A } from "parley-a2a";
import { memoryStore } from "parley-a2a/store/memory";
import { greeter, type Running } from "./greeter.js";

/** An agent beside the routes of a Fastify app. */
export async function start(port: number): Promise<Running> {
  const a2a = createA2A({ agent: greeter, store: memoryStore() });
  await a2a.start();
  const app = fastify();
  app.get("/", async () => "An app of its own.");
  app.register(async (scope) => {
    // Parley reads bodies itself; what is set here does not reach the routes outside.
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser("*", (_request, _body, done) => done(null));
    scope.all("/*", (request, reply) => {
      reply.hijack();
      a2a.handler(request.raw, reply.raw);
    });
  });
  await app.listen({ port });
  return {
    port: (app.server.address() as AddressInfo).port,
    stop: async () => {
      await a2a.close();
      await app.close();
    },
  };
}
