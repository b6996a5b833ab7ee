import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { createA2A } from "parley-a2a";
import { memoryStore } from "parley-a2a/store/memory";
import { greeter, type Running } from "./greeter.js";

/** An agent beside the services of a Connect router. */
export async function start(port: number): Promise<Running> {
  const a2a = createA2A({ agent: greeter, store: memoryStore() });
  await a2a.start();
  const adapter = connectNodeAdapter(a2a.connect);
  const server = createServer(adapter).listen(port);
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    stop: async () => {
      await a2a.close();
      server.close();
    },
  };
}
