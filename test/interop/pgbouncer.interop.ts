import { type ChildProcess, spawn } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import driver from "pg";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { create, follow, followRequest, readAll } from "../../contract/setup.js";
import { type PostgresStore, type PostgresStoreOptions, postgresStore } from "../../src/store/postgres/index.js";
import { PostgresServer, programs, STANDBY_IS_LEVEL } from "../store/postgres/server.js";
import { freePort } from "../support/free-port.js";
import { program } from "./support/site.js";

/** pgbouncer with short timeouts, in transaction mode, with few connections to the server. */
class Bouncer {
  readonly folder = mkdtempSync(join(tmpdir(), "parley-pgbouncer-"));
  readonly #port: number;
  readonly #mode: readonly string[];
  #child: ChildProcess | undefined;

  constructor(port: number, server: PostgresServer, mode: "transaction" | "session" = "transaction") {
    this.#port = port;
    this.#mode = [`pool_mode = ${mode}`, `default_pool_size = ${mode === "session" ? 20 : 3}`];
    writeFileSync(join(this.folder, "users.txt"), '"postgres" ""\n');
    this.lead(server);
    chmodSync(this.folder, 0o755);
  }

  get url(): string {
    return `postgres://postgres@127.0.0.1:${this.#port}/postgres`;
  }

  /** Writes a configuration that leads to a server. */
  lead(server: PostgresServer): void {
    const settings = [
      "[databases]",
      `postgres = host=${server.folder} user=postgres`,
      "[pgbouncer]",
      "listen_addr = 127.0.0.1",
      `listen_port = ${this.#port}`,
      "unix_socket_dir =",
      "auth_type = trust",
      `auth_file = ${join(this.folder, "users.txt")}`,
      "admin_users = postgres",
      ...this.#mode,
      "query_wait_timeout = 1",
      "server_reset_query = DISCARD ALL",
      "server_reset_query_always = 1",
      "server_login_retry = 1",
    ];
    writeFileSync(join(this.folder, "pgbouncer.ini"), `${settings.join("\n")}\n`);
  }

  async start(): Promise<void> {
    const command = ["pgbouncer", "-q", join(this.folder, "pgbouncer.ini")];
    // pgbouncer refuses to run as root.
    const [name = "", ...args] = process.getuid?.() === 0 ? ["runuser", "-u", "postgres", "--", ...command] : command;
    this.#child = spawn(name, args, { stdio: "ignore", cwd: "/" });
    await vi.waitFor(() => this.admin("SHOW VERSION"), { timeout: 10_000, interval: 100 });
  }

  /** Runs a command on pgbouncer's console. */
  async admin(command: string): Promise<unknown[]> {
    const client = new driver.Client(this.url.replace(/postgres$/, "pgbouncer"));
    client.on("error", () => {});
    await client.connect();
    try {
      return (await client.query(command)).rows as unknown[];
    } finally {
      await client.end();
    }
  }

  async stop(): Promise<void> {
    const child = this.#child;
    if (child === undefined) return;
    this.#child = undefined;
    const over = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGTERM");
    await over;
  }

  async end(): Promise<void> {
    await this.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

let server: PostgresServer;
let bouncer: Bouncer;
const opened: PostgresStore[] = [];
const logged: string[] = [];

beforeAll(async () => {
  await program("pgbouncer", "pgbouncer", "--version");
  server = new PostgresServer(programs() ?? "", { fsync: "off" });
  bouncer = new Bouncer(await freePort(), server);
  await bouncer.start();
});

afterEach(async () => {
  for (const store of opened.splice(0)) await store.close();
});

afterAll(async () => {
  await bouncer?.end();
  server?.end();
});

async function open(options: Partial<PostgresStoreOptions> = {}): Promise<PostgresStore> {
  const keep = (_facts: object, message: string): void => void logged.push(message);
  const logger = { debug: keep, info: keep, warn: keep, error: keep };
  const settings = { url: bouncer.url, prepared: false, require: "none", timeoutMs: 2_000, logger } as const;
  const store = await postgresStore({ ...settings, schema: "bounced", ...options });
  opened.push(store);
  return store;
}

describe("pgbouncer in transaction mode", () => {
  it("passes migrations, appends, reads, leases and heartbeats, and the log says that polling is left", async () => {
    const [one, two] = [await open(), await open()];
    const head = await follow(one, await create(one, { taskId: "a" }));
    await one.saveSnapshot({ taskId: "a", snapshot: { position: 2, bytes: new Uint8Array([1]) } });
    expect((await two.load({ taskId: "a" }))?.snapshot?.position).toBe(2);
    expect(await two.heartbeat({ holder: "h", leaseMs: 600, again: false, maxStallMs: 1_000 })).toBe(true);
    await follow(two, head);
    expect(await readAll(one, "a")).toEqual(["1", "2", "3"]);
    await Promise.all(Array.from({ length: 300 }, (_, index) => create(one, { taskId: `t${index}` })));
    one.signals?.join("x");
    const polling = (): boolean => logged.some((message) => message.includes("seen by polling alone"));
    await expect.poll(polling, { timeout: 20_000 }).toBe(true);
  });

  it("may be restarted, paused and resumed", async () => {
    const store = await open();
    let head = await create(store, { taskId: "b" });
    await bouncer.stop();
    await expect(store.append(followRequest(head))).rejects.toMatchObject({ kind: "unavailable" });
    await bouncer.start();
    await expect.poll(() => store.health.status.healthy, { timeout: 10_000 }).toBe(true);
    head = await follow(store, head);
    await bouncer.admin("PAUSE");
    const late = store.append(followRequest(head));
    late.catch(() => {});
    await expect(late).rejects.toMatchObject({ kind: "unavailable" });
    await bouncer.admin("RESUME");
    await expect.poll(() => store.health.status.healthy, { timeout: 10_000 }).toBe(true);
    const there = await store.head({ taskId: "b" });
    expect([2, 3]).toContain(there?.position);
  });

  it("rejects calls that wait too long for a connection to the server, and then continues", async () => {
    const store = await open();
    const head = await create(store, { taskId: "c" });
    const clients = Array.from({ length: 3 }, () => new driver.Client(bouncer.url));
    for (const client of clients) {
      client.on("error", () => {});
      await client.connect();
      await client.query("BEGIN");
    }
    await expect(store.append(followRequest(head))).rejects.toMatchObject({ kind: "unavailable" });
    await expect.poll(() => store.health.status.healthy, { timeout: 10_000 }).toBe(false);
    for (const client of clients) await client.end();
    await expect.poll(() => store.health.status.healthy, { timeout: 10_000 }).toBe(true);
    await follow(store, head);
  });

  it("cannot lead an append to another server than the one that was read", async () => {
    const standby = new PostgresServer(programs() ?? "", { fsync: "off" }, server);
    try {
      const store = await open();
      const head = await create(store, { taskId: "d" });
      await expect.poll(() => server.query(STANDBY_IS_LEVEL), { timeout: 10_000 }).toHaveLength(1);
      let isRead = false;
      store.history?.onMove(async () => {
        expect(await readAll(store, "d")).toEqual(["1"]);
        isRead = true;
      });
      standby.promote();
      bouncer.lead(standby);
      await bouncer.admin("RELOAD");
      // The connection to pgbouncer stays open.
      await expect(store.append(followRequest(head))).rejects.toMatchObject({ kind: "unavailable" });
      await expect.poll(() => isRead, { timeout: 10_000 }).toBe(true);
      await expect.poll(() => store.health.status.healthy, { timeout: 10_000 }).toBe(true);
      await follow(store, head);
      expect(
        await server.query(
          "SELECT count(*)::int FROM bounced.segment s JOIN bounced.task t USING (log) WHERE task_id = 'd'",
        ),
      ).toEqual([[1]]);
    } finally {
      standby.end();
    }
  });
});

describe("pgbouncer in session mode", () => {
  it("passes notifications and prepared statements", async () => {
    const session = new Bouncer(await freePort(), server, "session");
    try {
      await session.start();
      const settings = { url: session.url, schema: "sessions", prepared: true, connections: 3 };
      const [one, two] = [await open(settings), await open(settings)];
      const [a, b] = [one.signals?.join("a"), two.signals?.join("b")];
      const heard: string[] = [];
      b?.onChanged((ids) => heard.push(...ids));
      const announce = (): string[] => {
        a?.changed("t");
        return heard;
      };
      await expect.poll(announce).toContain("t");
      await follow(one, await create(one, { taskId: "t" }));
      expect(await readAll(two, "t")).toEqual(["1", "2"]);
      for (const store of opened.splice(0)) await store.close();
    } finally {
      await session.end();
    }
  });
});
