import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import type { JsonObject } from "@bufbuild/protobuf";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import { create, headOf } from "../../contract/setup.js";
import { sqliteStore } from "../../src/store/sqlite/index.js";
import { Receiver } from "../push/receiver.js";
import { PostgresServer, programs } from "../store/postgres/server.js";
import type { Driver } from "../support/driver.js";
import { bindings } from "../support/drivers.js";
import { build, root } from "./support/build.js";
import { Disk, noDisk } from "./support/disk.js";
import { Home, type ServerProcess } from "./support/server-process.js";
import { generationIn, logOf, resuming, Story, say, settled, stateOf, taskOf } from "./support/story.js";

const bin = programs();
const main = join(root, "dist/src/cli/main.js");
const longWait = "wait 4000";

interface Copied {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs `parley store copy`. */
async function copy(from: string, to: string, under: readonly string[] = []): Promise<Copied> {
  build();
  const [command = "", ...args] = [...under, process.execPath, main, "store", "copy", from, to];
  return new Promise((resolve) => {
    const child = execFile(command, args, (_, stdout, stderr) => resolve({ code: child.exitCode, stdout, stderr }));
  });
}

describe.skipIf(bin === undefined)("parley store copy", { timeout: 120_000 }, () => {
  const database = bin === undefined ? (undefined as never) : new PostgresServer(bin);
  afterAll(() => database.end());
  let receiver: Receiver;
  let home: Home;
  let schemas = 0;
  const address = (): string => `${database.url}&schema=s${++schemas}`;

  beforeEach(async () => {
    accepted = [];
    receiver = await Receiver.start(({ generation }, response) => {
      if (!isDown) accepted.push(generation);
      response.writeHead(isDown ? 503 : 204).end();
    });
    const push = ["--push", "--push-allow-http", "--push-ports", `${receiver.port}`, "--push-allow", "127.0.0.1"];
    home = new Home(...push, "--max-push-retry", "300ms");
  });
  let isDown = false;
  let accepted: number[] = [];
  afterEach(async () => {
    isDown = false;
    await home.leave();
    await receiver.stop();
  });
  const connect = (server: ServerProcess): Driver => bindings[0]?.connect(server) as Driver;

  it("moves running tasks to PostgreSQL and back, and clients and webhooks continue", async () => {
    const first = await home.start();
    let driver = connect(first);
    const story = new Story();
    void story.follow(driver.stream("SendStreamingMessage", say(longWait), resuming({ "Idempotency-Key": "wait" })));
    await story.has(1);
    const hook = { taskPushNotificationConfig: { url: receiver.url("/hook") }, returnImmediately: true };
    isDown = true;
    const hooked = { ...say("stream 20 20 1"), configuration: hook };
    const sent = (await driver.call("SendMessage", hooked, resuming())).message?.task as JsonObject;
    await settled(driver, String(sent.id));
    await expect.poll(() => receiver.hits.length).toBeGreaterThan(1);
    const asked = (await driver.call("SendMessage", say("ask Which colour?"), resuming())).message?.task as JsonObject;
    const listed = (await driver.call("ListTasks", {}, resuming())).message;
    await first.kill();
    driver.close();

    const file = home.store;
    home.store = address();
    const moved = await copy(file, home.store);
    expect(moved).toMatchObject({ code: 0, stdout: expect.stringContaining("copied and verified 3 tasks with ") });
    expect(moved.stdout).toContain("1 idempotency keys, 1 push configurations");
    const back = join(home.folder, "back.db");

    // No server delivers while the database is the store. The last server sends the due notifications.
    const second = await home.start();
    driver = connect(second);
    const ids = (message: JsonObject = {}): unknown[] => (message.tasks as JsonObject[]).map(({ id }) => id).sort();
    expect(ids((await driver.call("ListTasks", {}, resuming())).message)).toEqual(ids(listed));
    expect(await taskOf(driver, String(asked.id))).toEqual(asked);
    await story.follow(resumed(driver, story), ({ events }) =>
      JSON.stringify([...events.values()]).includes("attempt 2"),
    );
    await second.kill();
    driver.close();
    expect(await copy(home.store, back)).toMatchObject({ code: 0 });

    home.store = back;
    isDown = false;
    const third = await home.start();
    driver = connect(third);
    expect(await story.follow(resumed(driver, story))).toEqual({ end: true });
    const task = await taskOf(driver, story.taskId);
    expect(stateOf(task)).toBe("TASK_STATE_COMPLETED");
    expect(JSON.stringify(task.history)).toContain("Waiting again: attempt 3.");
    // The client's events from all three servers equal the log.
    const log = await logOf(driver, story.taskId);
    expect([...log.events.keys()]).toEqual(Array.from({ length: generationIn(task) - 1 }, (_, index) => index + 2));
    for (const [generation, event] of story.events) expect(log.events.get(generation)).toEqual(event);
    const again = await driver.call("SendMessage", say(longWait), resuming({ "Idempotency-Key": "wait" }));
    expect(again.message).toMatchObject({ task: { id: story.taskId } });
    const last = generationIn(await settled(driver, String(sent.id)));
    await expect.poll(() => accepted).toContain(last);
    expect([...new Set(accepted)]).toEqual(Array.from({ length: last }, (_, index) => index + 1));
    driver.close();
  });

  it("leaves a target that cannot be served when it is killed, and starts over", async () => {
    const store = sqliteStore(home.store);
    for (let each = 0; each < 12; each++) {
      await Promise.all(Array.from({ length: 1_000 }, (_, index) => create(store, { taskId: `t${each}-${index}` }, 5)));
    }
    await store.close();
    const [file, to] = [home.store, address()];
    const client = new (await import("pg")).default.Client(to);
    await client.connect();
    const child = spawn(process.execPath, [main, "store", "copy", file, to]);
    await expect
      .poll(
        () =>
          client.query(`SELECT count(*)::int AS n FROM s${schemas}.task`).then(
            ({ rows }) => rows[0].n,
            () => 0,
          ),
        { interval: 5 },
      )
      .toBeGreaterThan(0);
    child.kill("SIGKILL");
    await once(child, "close");
    await client.end();
    home.store = to;
    const refused = home.launch();
    expect(await refused.exited).toMatchObject({ code: 2 });
    expect(refused.log).toContain('the target of an unfinished "parley store copy": run that command again');
    expect(await copy(to, join(home.folder, "x.db"))).toMatchObject({ code: 2 });
    expect(await copy(file, to)).toMatchObject({ code: 0, stdout: expect.stringContaining("12000 tasks with 60000") });
    await (await home.start()).stop();
  });

  it.skipIf(noDisk !== undefined)("ends with 75 on a full disk, and leaves a file that is not served", async () => {
    const store = sqliteStore(home.store);
    const entry = new Uint8Array(100_000).fill(7);
    for (let index = 0; index < 300; index++) {
      await store.append({ head: headOf({ taskId: `t${index}` }), expected: 0, creates: true, entries: [entry] });
    }
    await store.close();
    const [file, to] = [home.store, join(home.folder, "to.db")];
    const disk = new Disk(to);
    disk.become("full");
    expect(await copy(file, to, disk.under)).toMatchObject({ code: 75, stdout: "" });
    disk.become("well");
    const copied = copy(file, to, disk.under);
    await expect
      .poll(() => (existsSync(`${to}-wal`) ? statSync(`${to}-wal`).size : 0), { interval: 2 })
      .toBeGreaterThan(1e6);
    disk.become("full");
    const full = await copied;
    expect(full).toMatchObject({ code: 75, stdout: "" });
    expect(full.stderr).toMatch(/SQLITE_(FULL|IOERR)/);
    disk.leave();
    home.store = to;
    const refused = home.launch();
    expect(await refused.exited).toMatchObject({ code: 2 });
    expect(refused.log).toContain("unfinished");
    expect(await copy(file, to)).toMatchObject({ code: 0 });
  });

  it("refuses wrong places in one line, without their secrets", async () => {
    const server = await home.start();
    const secret = "postgres://ann:hunter2@localhost:1/x?password=hunter2";
    const cases: (readonly [string, string, number, string])[] = [
      [home.store, address(), 2, "has it open"],
      ["missing.db", address(), 2, "<from>: the file missing.db does not exist"],
      ["memory", address(), 2, "a store in memory"],
      [secret, join(home.folder, "a.db"), 75, "ECONNREFUSED"],
      [address(), join(home.folder, "a.db"), 2, 'run "parley migrate"'],
      ["http://ann:hunter2@localhost", address(), 2, "postgres://"],
    ];
    for (const [from, to, code, text] of cases) {
      const ended = await copy(from, to);
      expect([from, ended]).toMatchObject([from, { code, stdout: "", stderr: expect.stringContaining(text) }]);
      expect(ended.stderr).not.toContain("hunter2");
    }
    expect((await copy(address(), secret)).stderr).not.toContain("hunter2");
    await server.stop();
  });
});

/** Resumes the stream of a task after the client's last event. */
function resumed(driver: Driver, story: Story): ReturnType<Driver["stream"]> {
  const options = resuming({ "Parley-After-Generation": `${story.generation}` });
  return driver.stream("SubscribeToTask", { id: story.taskId }, options);
}
