import { createServer } from "parley-a2a";
import { memoryStore } from "parley-a2a/store/memory";
import { books } from "./agent.js";
import { startIssuer } from "./issuer.js";

/** The agent, and beside it the issuer whose tokens it takes. */
export async function start(port: number): Promise<{ url: string; issuer: string; stop(): Promise<void> }> {
  const issuer = await startIssuer(0);
  const nightlyKey = process.env.NIGHTLY_KEY ?? crypto.randomUUID();
  const agent = books(issuer.url, nightlyKey);
  const server = await createServer({ agent, store: memoryStore(), port, grpcPort: false });
  return {
    url: `http://127.0.0.1:${server.port}`,
    issuer: issuer.url,
    stop: async () => {
      await server.close();
      issuer.stop();
    },
  };
}
