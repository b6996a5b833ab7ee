import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createA2A } from "../../src/server/create-a2a.js";
import { createServer, type Server } from "../../src/server/create-server.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { sqliteStore } from "../../src/store/sqlite/index.js";
import type { TaskStore } from "../../src/store/task-store.js";
import type { Address, Driver } from "../support/driver.js";
import type { Binding } from "../support/drivers.js";
import { type Setup, type SetupName, setups } from "./setups.js";

/** Stores of a server in the tables. */
export type StoreName = "memory" | "sqlite";

/** A running server with its address. */
export interface World {
  readonly server: Pick<Server, "close">;
  readonly address: Address;
  readonly driver: Driver;
}

/** Starts a server of the table on free ports. */
export async function serve(setup: Setup, store: TaskStore): Promise<{ server: Server; address: Address }> {
  const server = await createServer({
    ...setup,
    // The tasks that a case leaves are not worth a longer wait.
    limits: { shutdownGraceMs: 50, ...setup.limits },
    store,
    host: "127.0.0.1",
    port: 0,
    grpcPort: 0,
  });
  return { server, address: { url: `http://127.0.0.1:${server.port}`, grpcPort: server.grpcPort ?? 0 } };
}

/** Starts a server without ports, for calls of `fetch`. */
async function serveFetch(
  setup: Setup,
  store: TaskStore,
): Promise<{ server: Pick<Server, "close">; address: Address }> {
  const server = createA2A({
    ...setup,
    limits: { shutdownGraceMs: 50, ...setup.limits },
    store,
    // `fetch` does not serve gRPC.
    grpcPublicUrl: "127.0.0.1:50051",
  });
  await server.start();
  return { server, address: { url: "http://127.0.0.1:8080", grpcPort: 0, fetch: (request) => server.fetch(request) } };
}

/** The servers of one binding. Each starts when the first case needs it. */
export class Worlds {
  readonly #binding: Binding;
  readonly #store: StoreName;
  readonly #worlds = new Map<SetupName, Promise<World>>();
  #directory: string | undefined;

  constructor(binding: Binding, store: StoreName) {
    this.#binding = binding;
    this.#store = store;
  }

  get(name: SetupName): Promise<World> {
    let world = this.#worlds.get(name);
    if (world === undefined) {
      world = this.#start(name);
      this.#worlds.set(name, world);
    }
    return world;
  }

  async close(): Promise<void> {
    for (const world of await Promise.all(this.#worlds.values())) {
      world.driver.close();
      await world.server.close();
    }
    if (this.#directory !== undefined) rmSync(this.#directory, { recursive: true });
  }

  async #start(name: SetupName): Promise<World> {
    const { server, address } = await (this.#binding.isFetch ? serveFetch : serve)(setups[name], this.#storeOf(name));
    return { server, address, driver: this.#binding.connect(address) };
  }

  #storeOf(name: SetupName): TaskStore {
    if (this.#store === "memory") return memoryStore();
    this.#directory ??= mkdtempSync(join(tmpdir(), "parley-"));
    return sqliteStore({ path: join(this.#directory, `${name}.db`), synchronous: "NORMAL" });
  }
}
