import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { createA2A } from "parley-a2a";
import { memoryStore } from "parley-a2a/store/memory";
import { greeter } from "./agent.ts";

const a2a = createA2A({ agent: greeter, store: memoryStore(), basePath: "/agents" });
await a2a.start();

const app = new Hono();
app.get("/", (c) => c.text("An app of its own."));
app.all("/agents", (c) => a2a.fetch(c.req.raw));
app.all("/agents/*", (c) => a2a.fetch(c.req.raw));
// Clients look for the card of a host here.
app.get("/.well-known/agent-card.json", (c) => a2a.fetch(new Request(new URL(`/agents${c.req.path}`, c.req.url))));

const server = serve({ fetch: app.fetch, port: Number(process.env.PORT ?? 8080) }, ({ port }) => {
  console.log(`listening on ${port}`);
});
process.once("SIGTERM", async () => {
  await a2a.close();
  server.close();
});
