import fastify from "fastify";
import { createA2A } from "parley-a2a";
import { parleyFastify } from "parley-a2a/fastify";
import { sqliteStore } from "parley-a2a/store/sqlite";
import { agent } from "./agent.js";

const port = Number(process.env.PORT ?? 8080);
const app = fastify({ logger: true });

// `allowedHosts: []` is for a server that only this machine reaches. Where clients are elsewhere, set `publicUrl` instead.
const a2a = createA2A({ agent, store: sqliteStore("tasks.db"), logger: app.log, allowedHosts: [] });
await a2a.start();

app.get("/hello", async () => "A route of your own.");
app.register(parleyFastify, { a2a });
await app.listen({ port, host: "127.0.0.1" });

// `close` ends streams so that their clients continue them at the next start.
async function close(): Promise<void> {
  await a2a.close();
  await app.close();
}
process.once("SIGINT", close);
process.once("SIGTERM", close);
