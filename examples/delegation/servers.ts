import { createServer } from "parley-a2a";
import { memoryStore } from "parley-a2a/store/memory";
import { trips, weather } from "./agents.js";

/** Starts both agents on ports of their own. `url` is that of the agent that plans trips. */
export async function start(port: number): Promise<{ readonly url: string; stop(): Promise<void> }> {
  const other = await createServer({ agent: weather, store: memoryStore(), port: 0, grpcPort: false });
  const server = await createServer({
    agent: trips,
    store: memoryStore(),
    port,
    grpcPort: false,
    remoteAgents: { weather: other.url },
  });
  return {
    url: server.url,
    stop: async () => {
      await server.close();
      await other.close();
    },
  };
}
