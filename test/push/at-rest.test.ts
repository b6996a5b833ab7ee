import { readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { AuditRecord } from "../../src/index.js";
import { createServer, type Server, type ServerOptions } from "../../src/index.js";
import { ConfigVault } from "../../src/push/secrets.js";
import { sqliteStore } from "../../src/store/sqlite/index.js";
import { obedient } from "../conformance/agents.js";
import { temporaryFile } from "../store/sqlite/files.js";
import { scaled } from "../support/soak.js";
import { Receiver } from "./receiver.js";

vi.setConfig({ testTimeout: 60_000 });

const keyOf = (byte: number): string => Buffer.alloc(32, byte).toString("base64");
const [first, second] = [keyOf(1), keyOf(2)];
const idOf = (key: string): string => new ConfigVault([key]).currentKeyId ?? "";
const secrets = ["secret-token", "secret-credentials", "secret-query", "secret-path"];
const configuration = (receiver: Receiver, id: string): object => ({
  id,
  url: receiver.url(`/secret-path?key=secret-query`),
  token: "secret-token",
  authentication: { scheme: "Bearer", credentials: "secret-credentials" },
});

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** Servers on one file, one after the other, that send to one receiver on loopback. */
class World {
  readonly path: string = temporaryFile();
  readonly records: AuditRecord[] = [];
  readonly logged: string[] = [];
  server: Server | undefined;

  constructor(readonly receiver: Receiver) {
    closing.push(() => this.stop());
  }

  static async open(): Promise<World> {
    const receiver = await Receiver.start();
    closing.push(() => receiver.stop());
    return new World(receiver);
  }

  async start(encryptionKeys: readonly string[], more: Partial<ServerOptions> = {}): Promise<void> {
    await this.stop();
    const keep = (_facts: object, message: string): void => void this.logged.push(message);
    this.server = await createServer({
      agent: obedient("kept"),
      store: sqliteStore({ path: this.path, synchronous: "NORMAL" }),
      logger: { debug: () => {}, info: keep, warn: keep, error: keep },
      audit: { write: (record) => void this.records.push(record) },
      push: {
        allowHttp: true,
        ports: [this.receiver.port],
        allow: ["127.0.0.1"],
        ...(encryptionKeys.length > 0 && { encryptionKeys }),
      },
      limits: { shutdownGraceMs: 50 },
      port: 0,
      grpcPort: false,
      ...more,
    });
  }

  async stop(): Promise<void> {
    await this.server?.close();
    this.server = undefined;
  }

  async call(method: string, path: string, body?: object): Promise<{ status: number; json: unknown }> {
    const headers = { "content-type": "application/json", "a2a-version": "1.0" };
    const sent = { method, headers, body: body === undefined ? null : JSON.stringify(body) };
    const response = await fetch(`${this.server?.url}${path}`, sent);
    return { status: response.status, json: (await response.json()) as unknown };
  }

  /** Sends a text, with a configuration, and gives the path of the task's configurations. */
  async send(text: string, config: object, taskId = ""): Promise<{ id: string; configs: string }> {
    const message = { messageId: crypto.randomUUID(), role: "ROLE_USER", parts: [{ text }], taskId };
    const sent = { message, configuration: { taskPushNotificationConfig: config } };
    const { status, json } = await this.call("POST", "/message:send", sent);
    expect({ status, json }).toMatchObject({ status: 200 });
    const { id } = (json as { task: { id: string } }).task;
    return { id, configs: `/tasks/${id}/pushNotificationConfigs` };
  }

  /** Secrets that the file, or a file beside it, contains in plain text. */
  inFile(): string[] {
    const folder = dirname(this.path);
    const files = readdirSync(folder).filter((name) => name.startsWith(basename(this.path)));
    const bytes = files.map((name) => readFileSync(join(folder, name)).toString("latin1")).join("\n");
    expect(bytes).toContain("127.0.0.1");
    return secrets.filter((secret) => bytes.includes(secret));
  }

  /** The key of each stored configuration, or `none`. */
  async keys(): Promise<string[]> {
    const store = sqliteStore({ path: this.path });
    try {
      const all = await store.scanPushConfigs({ limit: 1_000 });
      const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString("latin1");
      return all.map(({ bytes }) => [first, second].map(idOf).find((id) => text(bytes).includes(id)) ?? "none");
    } finally {
      await store.close();
    }
  }
}

describe("secrets of push configurations in the file of SQLite", () => {
  it("are encrypted where there is a key, and reach the webhook all the same", async () => {
    const world = await World.open();
    await world.start([first]);
    const { configs } = await world.send("echo hi", configuration(world.receiver, "one"));
    await world.call("POST", configs, configuration(world.receiver, "two"));
    await expect.poll(() => world.receiver.hits.length, { timeout: 20_000 }).toBeGreaterThanOrEqual(3);
    expect(world.receiver.hits[0]).toMatchObject({
      path: "/secret-path?key=secret-query",
      headers: { authorization: "Bearer secret-credentials", "x-a2a-notification-token": "secret-token" },
    });
    expect(world.inFile()).toEqual([]);
    await world.stop();
    expect(world.inFile()).toEqual([]);
    expect(await world.keys()).toEqual([idOf(first), idOf(first)]);
    expect(world.logged.join("\n") + JSON.stringify(world.records)).not.toMatch(/secret-/);
  });

  it("are there for everybody to read where there is none", async () => {
    const world = await World.open();
    await world.start([]);
    await world.send("ask x", configuration(world.receiver, "one"));
    expect(world.inFile()).toEqual(secrets);
  });
});

describe("other keys", () => {
  it("read what was stored before them, and encrypt it anew in the background", async () => {
    const world = await World.open();
    await world.start([]);
    const { configs } = await world.send("ask x", configuration(world.receiver, "one"));
    await world.call("POST", configs, configuration(world.receiver, "two"));
    for (const [keys, before] of [
      [[first], "none"],
      [[second, first], idOf(first)],
    ] as const) {
      await world.stop();
      expect(await world.keys()).toEqual([before, before]);
      world.records.length = 0;
      await world.start(keys);
      const rotated = { event: "key.rotated", use: "push-secrets", key: idOf(keys[0]), count: 2 };
      await expect.poll(() => world.records, { timeout: 20_000 }).toContainEqual(expect.objectContaining(rotated));
      expect(world.logged.at(-1)).toContain("are encrypted by this key; older keys can be removed");
      await world.stop();
      expect(await world.keys()).toEqual([idOf(keys[0]), idOf(keys[0])]);
      await world.start(keys);
    }
    // The older key may go, and nothing is done once more.
    world.records.length = 0;
    await world.start([second]);
    const { json } = await world.call("GET", configs);
    expect(json).toMatchObject({ configs: [{ id: "one", authentication: { scheme: "Bearer" } }, { id: "two" }] });
    expect(JSON.stringify(json)).not.toMatch(/secret-(token|credentials)/);
    expect(world.records.filter(({ event }) => event === "key.rotated")).toEqual([]);
  });

  it("encrypt anew while tasks go on, and lose no notification and no change", async () => {
    const TASKS = scaled(40, 120);
    const world = await World.open();
    await world.start([]);
    const at = (task: number): string => `/task-${task}`;
    const own = (task: number): object => ({
      ...configuration(world.receiver, "one"),
      url: world.receiver.url(at(task)),
    });
    const tasks = await Promise.all(Array.from({ length: TASKS }, (_, task) => world.send("ask x", own(task))));
    /** Has every task go on, and meanwhile replaces each third configuration and makes and deletes others. */
    const load = (text: string): Promise<unknown> =>
      Promise.all(
        tasks.map(async ({ id, configs }, task) => {
          const message = { messageId: crypto.randomUUID(), role: "ROLE_USER", parts: [{ text }], taskId: id };
          const configuration = { returnImmediately: true };
          const { status } = await world.call("POST", "/message:send", { message, configuration });
          expect(status).toBe(200);
          if (task % 3 === 0) expect((await world.call("POST", configs, own(task))).status).toBe(200);
          if (task % 3 !== 1) return;
          expect((await world.call("POST", configs, { ...own(task), id: "two" })).status).toBe(200);
          expect((await world.call("DELETE", `${configs}/two`)).status).toBe(200);
        }),
      );
    for (const keys of [[first], [second, first]]) {
      await world.start(keys);
      await load("ask y");
    }
    await world.start([second]);
    await load("echo z");
    const newest = async (task: number): Promise<string> => {
      const { json } = await world.call("GET", `/tasks/${tasks[task]?.id}`);
      return (json as { status: { state: string } }).status.state;
    };
    for (let task = 0; task < TASKS; task++) {
      const path = at(task);
      await expect.poll(() => world.receiver.of(path).at(-1)?.body ?? "", { timeout: 20_000 }).toContain("COMPLETED");
      expect(await newest(task)).toBe("TASK_STATE_COMPLETED");
      const generations = world.receiver.generationsOf(path);
      expect(generations).toEqual(Array.from({ length: generations.at(-1) ?? 0 }, (_, i) => i + 1));
    }
    await world.stop();
    expect(new Set(await world.keys())).toEqual(new Set([idOf(second)]));
  });

  it("that are missing make deliveries wait, and lose none", async () => {
    const world = await World.open();
    await world.start([first]);
    const { id, configs } = await world.send("ask x", configuration(world.receiver, "one"));
    await expect.poll(() => world.receiver.hits.length, { timeout: 20_000 }).toBe(2);
    for (const keys of [[], [second]]) {
      await world.start(keys);
      for (const path of [configs, `${configs}/one`]) {
        const { status, json } = await world.call("GET", path);
        expect([status, JSON.stringify(json)]).toEqual([503, expect.stringContaining("cannot be read at present")]);
        expect(JSON.stringify(json)).not.toContain(idOf(first));
      }
    }
    expect(world.logged.join("\n")).toContain("encrypted by keys that are missing");
    // Another configuration of the same task does not wait for it.
    await world.send("ask y", { id: "two", url: world.receiver.url("/other") }, id);
    await expect.poll(() => world.receiver.of("/other").length, { timeout: 20_000 }).toBe(1);
    expect(world.receiver.of("/secret-path?key=secret-query")).toHaveLength(2);
    expect(await world.server?.push?.deadLetters()).toEqual([]);
    // With the key again, deferred deliveries continue. A replacement makes these due at once.
    await world.start([second, first]);
    const again = await world.call("POST", configs, configuration(world.receiver, "one"));
    expect(again.status).toBe(200);
    const generations = (path: string): number[] => world.receiver.generationsOf(path);
    const undelivered = generations("/other");
    await expect
      .poll(() => generations("/secret-path?key=secret-query"), { timeout: 20_000 })
      .toEqual([1, 2, ...undelivered]);
  });

  it("that are missing keep nobody from deleting", async () => {
    const world = await World.open();
    await world.start([first]);
    const { configs } = await world.send("ask x", configuration(world.receiver, "one"));
    await world.start([second]);
    expect((await world.call("DELETE", `${configs}/one`)).status).toBe(200);
    expect((await world.call("GET", configs)).json).toEqual({ configs: [] });
  });
});
