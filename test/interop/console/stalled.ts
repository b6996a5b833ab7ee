import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** Agents that accept requests and never answer. */
export interface StalledAgents {
  readonly url: string;
  /** Number of requests so far. */
  asked(): number;
  close(): Promise<void>;
}

/** Starts agents at every path of a port. They never answer. */
export async function serveStalled(): Promise<StalledAgents> {
  let count = 0;
  const server = createServer(() => void count++);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked: () => count,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
