import { once } from "node:events";
import { existsSync, readdirSync, renameSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { countTo, create, follow, headOf, leaseOf, numbered, OWNER, readAll } from "../../../contract/setup.js";
import { closeFiles, openFiles } from "../../../src/store/sqlite/file-identity.js";
import { frameOf } from "../../../src/store/sqlite/frames.js";
import { sqliteStore } from "../../../src/store/sqlite/index.js";
import { restoreFile } from "../../../src/store/sqlite/restore.js";
import { MessageBuilder } from "../../../src/store/sqlite/write-codec.js";
import { helloOf, type WriterAnswer } from "../../../src/store/sqlite/writer-protocol.js";
import type { AppendRequest, TaskStore } from "../../../src/store/task-store.js";
import { scaled } from "../../support/soak.js";
import { expectSoundFile } from "../../support/sound-file.js";
import { temporaryFile } from "./files.js";
import { type Writing, writing } from "./writing.js";

const MIB = 1024 * 1024;

const append = (taskId: string, bytes?: number): AppendRequest => ({
  head: headOf({ taskId }),
  expected: 0,
  creates: true,
  entries: bytes === undefined ? numbered(0, 1) : [new Uint8Array(bytes)],
});

/** Address at which a writer process listens. */
async function answerOf({ writer }: Writing): Promise<Extract<WriterAnswer, { address: string }>> {
  return (await new Promise<object>((resolve) => writer.ask({}, resolve))) as never;
}

/** A client that sends the bytes of a test. */
async function rawClient(by: Writing): Promise<Socket> {
  const { address, path } = await answerOf(by);
  const socket = connect(address);
  await once(socket, "connect");
  const files = openFiles(path);
  for (const part of frameOf(helloOf(files))) socket.write(part);
  closeFiles(files);
  return socket;
}

function messageWith(...requests: AppendRequest[]): Buffer {
  const message = new MessageBuilder();
  for (const request of requests) message.addAppend(request, false);
  return Buffer.concat(frameOf(message.take()));
}

describe("a process that writes a file for several others", () => {
  it("commits what they write, has the file alone, and leaves it as one process does", async () => {
    const path = temporaryFile();
    const by = writing(path);
    const [one, two] = [await by.open(), await by.open()];
    await Promise.all([create(one, { taskId: "a" }), create(two, { taskId: "b" })]);
    expect(await readAll(one, "b")).toEqual(["1"]);
    await expect(create(one, { taskId: "b" })).rejects.toMatchObject({ kind: "conflict" });
    expect(() => sqliteStore(path)).toThrow(`process ${by.child.pid} has it open for itself alone`);
    expect(() => sqliteStore({ path, shared: true })).toThrow("for itself alone");
    const { address } = await answerOf(by);
    expect(existsSync(address)).toBe(true);
    await Promise.all([one.close(), two.close()]);
    await by.writer.end();
    expect(existsSync(dirname(address))).toBe(false);
    expect(readdirSync(dirname(path)).sort()).toEqual(["tasks.db", "tasks.db-lock"]);
    expect(expectSoundFile(path)).toBe(2);
    expect(await restoreFile(path, `${path}-restored`)).toMatchObject({ tasks: 2 });
  }, 30_000);

  it("shares the file with other servers if asked to", async () => {
    const path = temporaryFile();
    const store = await writing(path, true).open();
    const other = sqliteStore({ path, shared: true });
    await create(other, { taskId: "a" });
    await follow(store, await create(store, { taskId: "b" }));
    expect(await readAll(store, "a")).toEqual(["1"]);
    expect(await readAll(other, "b")).toEqual(["1", "2"]);
    await other.close();
    await store.close();
  }, 30_000);

  it("releases the leases of an earlier server at once, and none of a live one", async () => {
    const path = temporaryFile();
    const before = sqliteStore({ path, shared: true });
    await create(before, { taskId: "a", lease: leaseOf({ holder: "before" }) });
    await before.close();
    const by = writing(path);
    const [one, two] = [await by.open(), await by.open()];
    const lease = { leaseMs: 600_000, limit: 10 };
    expect((await one.claimLeases({ ...lease, holder: "one" })).map(({ taskId }) => taskId)).toEqual(["a"]);
    by.child.kill("SIGKILL");
    await works(two);
    expect(await two.claimLeases({ ...lease, holder: "two" })).toEqual([]);
    expect(await two.claimLeases({ ...lease, holder: "two", ended: ["one"] })).toHaveLength(1);
    await Promise.all([one.close(), two.close()]);
  }, 60_000);

  it("is refused its file with the reason", async () => {
    const path = temporaryFile();
    const other = sqliteStore(path);
    await expect(writing(path).open()).rejects.toMatchObject({ kind: "failed", message: /has it open for itself/ });
    await other.close();
  }, 30_000);

  it("commits small writes of one client before the bulk writes of another", async () => {
    const by = writing(temporaryFile());
    const [one, two] = [await by.open(), await by.open()];
    await create(two, { taskId: "first" });
    const order: string[] = [];
    const large = Array.from({ length: 40 }, (_, at) =>
      one.append(append(`large-${at}`, MIB)).then(() => order.push("large")),
    );
    await sleep(0);
    const own = create(one, { taskId: "own" }).then(() => order.push("small"));
    const others = create(two, { taskId: "other" }).then(() => order.push("small"));
    await Promise.all([own, others, ...large]);
    // Far before the last: a client has some megabytes under way, and keeps the rest.
    expect(order.slice(-20)).toEqual(Array.from({ length: 20 }, () => "large"));
    await Promise.all([one.close(), two.close()]);
  }, 60_000);

  it("continues when a client ends in the middle of a message, or sends invalid bytes", async () => {
    const by = writing(temporaryFile());
    const store = await by.open();
    await create(store, { taskId: "a" });
    const message = messageWith(append("whole"), append("cut", 100_000));
    for (const cut of [1, 4, 20, 50_000]) {
      const socket = await rawClient(by);
      socket.write(message.subarray(0, cut));
      await follow(store, (await store.head({ taskId: "a" }))!);
      socket.destroy();
    }
    const stranger = await rawClient(by);
    stranger.write(Buffer.from([1, 0, 0, 255, 7]));
    await once(stranger.resume(), "close");
    expect(await readAll(store, "a")).toEqual(countTo(5));
    expect((await store.list({ ...OWNER, limit: 10 })).total).toBe(1);
    await store.close();
  }, 60_000);

  it("reads no more of a client that does not read its answers, and serves the others", async () => {
    const by = writing(temporaryFile());
    const store = await by.open();
    const socket = await rawClient(by);
    socket.pause();
    const message = new MessageBuilder();
    // Each answer is a long list of leases, or an error with a text.
    for (let at = 0; at < 500; at++) message.addAppend({ ...append("none"), expected: 7 }, false);
    const many = Buffer.concat(frameOf(message.take()));
    let sent = 0;
    while (socket.writableLength < 4 * MIB && sent < 1_000 * MIB) {
      socket.write(many);
      sent += many.length;
      await sleep(0);
      if (sent % (many.length * 50) === 0) await create(store, { taskId: `${sent}` });
    }
    expect(socket.writableLength).toBeGreaterThanOrEqual(4 * MIB);
    await create(store, { taskId: "served" });
    socket.destroy();
    await create(store, { taskId: "also" });
    await store.close();
  }, 120_000);
});

/** Resolves when the store writes again. */
async function works(store: TaskStore): Promise<void> {
  await expect.poll(() => store.health.status, { timeout: 30_000, interval: 5 }).toEqual({ healthy: true });
  for (let tries = 0; tries < 1_000; tries++) {
    const works = await store.setLease({ taskId: "none", fence: leaseOf(), lease: null }).catch(() => undefined);
    if (works !== undefined) return;
    await sleep(20);
  }
}

describe("a writer process that ends or stops", () => {
  it("loses and duplicates no acknowledged write, however often it is killed", async () => {
    const by = writing(temporaryFile());
    const stores = [await by.open(), await by.open()];
    let isOver = false;
    const acknowledged = new Map<string, number>();
    const grow = async (store: TaskStore, name: string): Promise<void> => {
      for (let task = 0; !isOver; task++) {
        const taskId = `${name}-${task}`;
        for (let position = 0; position < 4 && !isOver; ) {
          const head = headOf({ taskId, position: position + 1 });
          const request = { head, expected: position, creates: position === 0, entries: numbered(position, 1) };
          const done = await store.append(request).then(
            () => true,
            () => false,
          );
          if (!done) await works(store);
          // A write in progress may be stored or lost.
          position = done ? position + 1 : ((await store.head({ taskId }))?.position ?? 0);
          acknowledged.set(taskId, position);
        }
      }
    };
    const work = stores.flatMap((store, at) => [0, 1, 2, 3].map((caller) => grow(store, `${at}-${caller}`)));
    const kills = scaled(2, 12);
    for (let kill = 0; kill < kills; kill++) {
      const { size } = acknowledged;
      await expect.poll(() => acknowledged.size, { timeout: 30_000, interval: 5 }).toBeGreaterThan(size + 8);
      by.child.kill("SIGKILL");
    }
    for (const store of stores) await works(store);
    isOver = true;
    await Promise.all(work);
    expect(by.log.filter((line) => line.startsWith("the process that writes the store has ended"))).toHaveLength(kills);
    const store = stores[0] as TaskStore;
    for (const [taskId, position] of acknowledged) {
      expect(await readAll(store, taskId)).toEqual(countTo(position));
    }
    await Promise.all(stores.map((each) => each.close()));
    await by.writer.end();
  }, 240_000);

  it("is a fault like that of a stalled thread while it is stopped", async () => {
    const by = writing(temporaryFile());
    const store = await by.open();
    await create(store, { taskId: "a" });
    by.child.kill("SIGSTOP");
    const late = create(store, { taskId: "b" }).catch((error: unknown) => error);
    await expect
      .poll(() => store.health.status, { timeout: 10_000 })
      .toMatchObject({
        healthy: false,
        reason: "A write to the store has been under way for more than 1250 ms.",
        restartHelps: false,
      });
    expect(await late).toMatchObject({ kind: "unavailable" });
    await expect(create(store, { taskId: "c" })).rejects.toMatchObject({ kind: "unavailable" });
    by.child.kill("SIGCONT");
    await works(store);
    expect(await readAll(store, "b")).toEqual(["1"]);
    await create(store, { taskId: "c" });
    await store.close();
  }, 60_000);

  it("ends by itself after its last client when the one that started it has ended", async () => {
    const path = temporaryFile();
    const by = writing(path);
    const store = await by.open();
    await create(store, { taskId: "a" });
    const exited = once(by.child, "exit");
    by.child.disconnect();
    await follow(store, (await store.head({ taskId: "a" }))!);
    await store.close();
    expect(await exited).toEqual([0, null]);
    expect(expectSoundFile(path)).toBe(1);
    await by.writer.end();
  }, 60_000);

  it("does not write another file for one that has the first open", async () => {
    const path = temporaryFile();
    const by = writing(path);
    const store = await by.open();
    await create(store, { taskId: "a" });
    for (const end of ["", "-wal", "-shm"]) renameSync(path + end, `${path}.moved${end}`);
    by.child.kill("SIGKILL");
    await expect.poll(() => existsSync(path), { timeout: 30_000 }).toBe(true);
    await expect(
      (async () => {
        for (let at = 0; at < 100; at++) {
          await create(store, { taskId: `${at}` }).then(() => expect.unreachable());
        }
      })(),
    ).rejects.toMatchObject({ kind: "unavailable" });
    const next = await by.open();
    expect((await next.list({ ...OWNER, limit: 1 })).total).toBe(0);
    await next.close();
    await store.close().catch(() => {});
  }, 60_000);
});
