import { createFetchA2A } from "parley-a2a/fetch";
import { memoryStore } from "parley-a2a/store/memory";
import { greeter } from "./agent.ts";

const a2a = createFetchA2A({ agent: greeter, store: memoryStore(), basePath: "/agents" });
await a2a.start();

const onListen = ({ port }: { port: number }): void => console.log(`listening on ${port}`);
const server = Deno.serve({ port: Number(Deno.env.get("PORT") ?? 8080), onListen }, (request, { remoteAddr }) => {
  const { pathname } = new URL(request.url);
  const origin = { remoteAddress: remoteAddr.hostname };
  if (pathname === "/") return new Response("An app of its own.");
  // Clients look for the card of a host here.
  if (pathname === "/.well-known/agent-card.json") {
    return a2a.fetch(new Request(new URL(`/agents${pathname}`, request.url)), origin);
  }
  return a2a.fetch(request, origin);
});
Deno.addSignalListener("SIGTERM", async () => {
  await a2a.close();
  await server.shutdown();
});
