import { createServer } from "parley-a2a";
import { memoryStore } from "parley-a2a/store/memory";
import { books } from "./agent.js";
import { startIssuer } from "./issuer.js";

interface Running {
  readonly url: string;
  /** Where tokens are given out. */
  readonly issuer: string;
  /** The key of the nightly run: of the variable NIGHTLY_KEY, or made anew. */
  readonly nightlyKey: string;
  stop(): Promise<void>;
}

/** The agent, and beside it the issuer whose tokens it takes. */
export async function start(port: number): Promise<Running> {
  const issuer = await startIssuer(0);
  const nightlyKey = process.env.NIGHTLY_KEY ?? crypto.randomUUID();
  const agent = books(issuer.url, nightlyKey);
  const server = await createServer({ agent, store: memoryStore(), port, grpcPort: false });
  return {
    url: `http://127.0.0.1:${server.port}`,
    issuer: issuer.url,
    nightlyKey,
    stop: async () => {
      await server.close();
      issuer.stop();
    },
  };
}
