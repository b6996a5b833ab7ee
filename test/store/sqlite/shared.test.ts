import { describe, expect, it } from "vitest";
import {
  bytesOf,
  countTo,
  create,
  follow,
  followRequest,
  leaseOf,
  listAll,
  OWNER,
  readAll,
} from "../../../contract/setup.js";
import { sqliteStore } from "../../../src/store/sqlite/index.js";
import { NO_HOLDER } from "../../../src/store/task-store.js";
import { temporaryFile } from "./files.js";
import { startChild } from "./process.js";

describe("two stores on one file", () => {
  it("say whether other processes may write, as they were opened", async () => {
    const [alone, shared] = [sqliteStore(temporaryFile()), sqliteStore({ path: temporaryFile(), shared: true })];
    expect(alone.shared).toBe(false);
    expect(shared.shared).toBe(true);
    await Promise.all([alone.close(), shared.close()]);
  });

  it("see each other's tasks as soon as they are stored", async () => {
    const path = temporaryFile();
    const [one, two] = [sqliteStore({ path, shared: true }), sqliteStore({ path, shared: true })];
    const head = await create(one, { taskId: "a" }, 2);
    expect(await two.head({ taskId: "a" })).toEqual(head);
    await follow(two, head, {}, 3);
    expect(await readAll(one, "a")).toEqual(countTo(5));
    await expect(follow(one, head)).rejects.toMatchObject({ kind: "conflict" });
    expect((await one.list({ ...OWNER, limit: 1 })).total).toBe(1);
    await one.close();
    await follow(two, { ...head, position: 5 });
    await two.close();
    const three = sqliteStore(path);
    expect(await readAll(three, "a")).toEqual(countTo(6));
    await three.close();
  });

  it("never both replace the same version of a conversation's state", async () => {
    const path = temporaryFile();
    const stores = [sqliteStore({ path, shared: true }), sqliteStore({ path, shared: true })];
    const key = { ...OWNER, contextId: "context" };
    const heads = await Promise.all(
      Array.from({ length: 20 }, (_, index) => create(stores[index % 2]!, { taskId: `${index}` })),
    );
    for (let version = 0; version < 5; version++) {
      const outcomes = await Promise.all(
        heads.map((head, index) => {
          const conversation = { expected: version, version: version + 1, bytes: bytesOf(`${index}`) };
          const request = followRequest(head);
          return stores[index % 2]!.append({ ...request, conversation }).then(
            () => {
              heads[index] = { ...head, position: request.head.position };
              return `${index}`;
            },
            (error: unknown) => void expect(error).toMatchObject({ kind: "conversation-moved" }),
          );
        }),
      );
      const [winner, ...others] = outcomes.filter((outcome) => outcome !== undefined);
      expect(others).toEqual([]);
      for (const store of stores) {
        expect(await store.conversation(key)).toEqual({ version: version + 1, bytes: bytesOf(winner!) });
      }
    }
    await Promise.all(stores.map((store) => store.close()));
  });

  it("never both claim a lease", async () => {
    const path = temporaryFile();
    const stores = [sqliteStore({ path, shared: true }), sqliteStore({ path, shared: true })];
    const ids = Array.from({ length: 100 }, (_, index) => `task-${index}`);
    await Promise.all(ids.map((taskId) => create(stores[0]!, { taskId, lease: leaseOf({ holder: NO_HOLDER }) })));
    const claims = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        stores[index % 2]!.claimLeases({ holder: `holder-${index}`, leaseMs: 60_000, limit: 9 }),
      ),
    );
    const claimed = claims.flat().map((head) => head.taskId);
    expect(claimed).toHaveLength(100);
    expect(new Set(claimed)).toEqual(new Set(ids));
    await Promise.all(stores.map((store) => store.close()));
  });
});

describe("several processes on one file", () => {
  it("create it together, write each position once, and claim each lease and each delivery once", async () => {
    const path = temporaryFile();
    const names = ["one", "two", "three", "four"];
    const children = names.map((name) => startChild("race", path, name));
    const store = sqliteStore({ path, shared: true });
    const first = await create(store, { taskId: "contested" });
    for (const child of children) expect(await child.ended).toBe(0);

    const said = children.flatMap((child) => child.lines);
    const won = said.filter((line) => line.startsWith("won")).map((line) => Number(line.split(" ")[1]));
    const log = await readAll(store, "contested");
    expect(log).toEqual(countTo(log.length));
    expect(won.sort((a, b) => a - b)).toEqual(countTo(log.length).map(Number).slice(first.position));

    const claimed = said.filter((line) => line.startsWith("claimed"));
    expect(new Set(claimed).size).toBe(claimed.length);

    const delivered = said.filter((line) => line.startsWith("delivering"));
    expect(new Set(delivered).size).toBe(delivered.length);
    expect(said.filter((line) => line.startsWith("completed") && !line.endsWith(" completed"))).toEqual([]);
    const left = await store.claimDeliveries({ holder: "last", leaseMs: 60_000, now: 9_999, limit: 100 });
    expect(delivered.length + left.length).toBe(names.length * 20);
    expect((await store.list({ ...OWNER, limit: 1 })).total).toBe(1 + names.length * 20);
    expect(await listAll(store, { ...OWNER, limit: 9 })).toHaveLength(1 + names.length * 20);
    await store.close();
  }, 60_000);
});
