import { createFetchA2A } from "parley-a2a/fetch";
import { memoryStore } from "parley-a2a/store/memory";
import { greeter } from "./agent.ts";

const a2a = createFetchA2A({ agent: greeter, store: memoryStore(), basePath: "/agents" });
await a2a.start();

const server = Bun.serve({
  port: Number(process.env.PORT ?? 8080),
  // A stream may be silent for longer than Bun waits for by itself.
  idleTimeout: 0,
  routes: { "/": new Response("An app of its own.") },
  fetch(request, server) {
    const { pathname } = new URL(request.url);
    const origin = { remoteAddress: server.requestIP(request)?.address };
    // Clients look for the card of a host here.
    if (pathname === "/.well-known/agent-card.json") {
      return a2a.fetch(new Request(new URL(`/agents${pathname}`, request.url)), origin);
    }
    return a2a.fetch(request, origin);
  },
});
console.log(`listening on ${server.port}`);
process.once("SIGTERM", async () => {
  await a2a.close();
  await server.stop();
});
