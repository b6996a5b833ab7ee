import { once } from "node:events";
import type { AddressInfo } from "node:net";
import express from "express";
import { createA2A } from "parley-a2a";
import { memoryStore } from "parley-a2a/store/memory";
import { greeter, type Running } from "./greeter.js";

/** An Express app with body parsers and routes of its own that also serves an agent. */
export async function start(port: number): Promise<Running> {
  const a2a = createA2A({ agent: greeter, store: memoryStore() });
  await a2a.start();
  const app = express();
  app.use(express.json());
  app.get("/", (_request, response) => void response.send("An app of its own."));
  app.use(a2a.handler);
  const server = app.listen(port);
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    stop: async () => {
      await a2a.close();
      server.close();
    },
  };
}
