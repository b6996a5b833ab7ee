import { once } from "node:events";
import type { AddressInfo } from "node:net";
import express from "express";
import { createA2A } from "parley-a2a";
import { sqliteStore } from "parley-a2a/store/sqlite";
import { pino } from "pino";
import { agent } from "./agent.js";

const port = Number(process.env.PORT ?? 8080);
const logger = pino();

// `allowedHosts: []` is for a server that only this machine reaches. Where clients are elsewhere, set `publicUrl` instead.
const a2a = createA2A({ agent, store: sqliteStore("tasks.db"), logger, allowedHosts: [] });
await a2a.start();

const app = express();
app.get("/hello", (_request, response) => void response.send("A route of your own."));
app.use(a2a.handler);

const server = app.listen(port, "127.0.0.1");
await once(server, "listening");
logger.info(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);

// `close` ends streams so that their clients continue them at the next start.
async function close(): Promise<void> {
  await a2a.close();
  server.close();
}
process.once("SIGINT", close);
process.once("SIGTERM", close);
