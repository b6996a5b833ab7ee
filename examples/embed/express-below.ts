import { once } from "node:events";
import type { AddressInfo } from "node:net";
import express from "express";
import { createA2A } from "parley-a2a";
import { memoryStore } from "parley-a2a/store/memory";
import { greeter, type Running } from "./greeter.js";

/** An agent below a path of an Express app, whose card is at the root as well. */
export async function start(port: number, publicUrl = `http://localhost:${port}/agents`): Promise<Running> {
  const a2a = createA2A({ agent: greeter, store: memoryStore(), publicUrl });
  await a2a.start();
  const app = express();
  app.get("/", (_request, response) => void response.send("An app of its own."));
  app.get("/ready", (_request, response) => void response.sendStatus(a2a.readiness === "ready" ? 200 : 503));
  app.use("/agents", a2a.handler);
  // Clients look for the card of a host here. It names the public URL, which includes the path.
  app.get("/.well-known/agent-card.json", a2a.handler);
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
