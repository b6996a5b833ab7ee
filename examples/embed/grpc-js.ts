import { promisify } from "node:util";
import { Server, ServerCredentials } from "@grpc/grpc-js";
import { createA2A } from "parley-a2a";
import { memoryStore } from "parley-a2a/store/memory";
import { greeter, type Running } from "./greeter.js";

/** An agent beside the services of a grpc-js server. */
export async function start(port: number): Promise<Running> {
  const a2a = createA2A({ agent: greeter, store: memoryStore() });
  await a2a.start();
  const server = new Server();
  server.addService(a2a.grpc.definition, a2a.grpc.implementation);
  const bind = promisify(server.bindAsync.bind(server));
  return {
    port: await bind(`127.0.0.1:${port}`, ServerCredentials.createInsecure()),
    stop: async () => {
      await a2a.close();
      server.forceShutdown();
    },
  };
}
