import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { createServer, type RemoteAgents, type Server } from "parley-a2a";
import { connect } from "parley-a2a/client";
import { sqliteStore } from "parley-a2a/store/sqlite";
import { agent } from "./agent.js";

/** A running host. */
export interface Host {
  readonly url: string;
  readonly server: Server;
  /** The given addresses without an agent, each with the reason. */
  readonly missing: readonly string[];
  /** Adds the agent at an address under the name of its card, and returns the name. */
  add(address: string): Promise<string>;
  stop(): Promise<void>;
}

/** Options of the host's server. */
interface HostOptions {
  /** The place of its tasks. Default: `.host`. */
  readonly folder?: string;
  /** True to serve the console as well. */
  readonly console?: boolean;
}

/** Serves the host with the agents at some addresses. Further ones can be added while it runs; they are not stored. */
export async function start(
  port: number,
  addresses: readonly string[] = [],
  { folder = ".host", console = false }: HostOptions = {},
): Promise<Host> {
  mkdirSync(folder, { recursive: true });
  const found = await Promise.allSettled(addresses.map(named));
  const remoteAgents: RemoteAgents = Object.fromEntries(
    found.flatMap((each) => (each.status === "fulfilled" ? [each.value] : [])),
  );
  const missing = found.flatMap((each, i) =>
    each.status === "rejected" ? [`${addresses[i]}: ${each.reason.message}`] : [],
  );
  const server = await createServer({
    agent,
    store: sqliteStore(join(folder, "tasks.db")),
    port,
    grpcPort: false,
    remoteAgents,
    console,
  });
  return {
    url: server.url,
    server,
    missing,
    add: async (address) => {
      const [name, url] = await named(address);
      server.remoteAgents.add(name, url);
      return name;
    },
    stop: () => server.close(),
  };
}

/** Reads the card at an address. */
async function named(address: string): Promise<[name: string, url: string]> {
  const client = await connect(address);
  try {
    return [client.card.name, address];
  } finally {
    await client.close();
  }
}
