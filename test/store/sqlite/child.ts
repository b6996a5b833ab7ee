import { create as createMessage } from "@bufbuild/protobuf";
import { configOf, create, follow, followRequest, headOf, leaseOf, numbered, sleep } from "../../../contract/setup.js";
import { DeleteOwnerRequestSchema } from "../../../gen/parley/admin/v1/admin_pb.js";
import { ownerOperations } from "../../../src/admin/operations/owners.js";
import type { AdminParts } from "../../../src/admin/parts.js";
import { createEngine } from "../../../src/engine/engine.js";
import { sqliteStore } from "../../../src/store/sqlite/index.js";
import { lockFile } from "../../../src/store/sqlite/lock.js";
import { migrate, SCHEMA_VERSION } from "../../../src/store/sqlite/migrations.js";
import { type ClaimedDelivery, NO_HOLDER, type TaskStore } from "../../../src/store/task-store.js";
import { openDatabase } from "../../support/database.js";

/**
 * Runs one command of a test in its own process: `child.ts <what> <file> [<name>] [<synchronous>]`. It prints a line
 * for each acknowledged write.
 */
const [what, path = "", name = "", mode = "FULL"] = process.argv.slice(2);
const say = (line: string): boolean => process.stdout.write(`${line}\n`);

switch (what) {
  case "append for ever":
    await appendForEver();
    break;
  case "deliver for ever":
    await deliverForEver();
    break;
  case "give up and look":
    await giveUpAndLook();
    break;
  case "append and close":
    await appendAndClose();
    break;
  case "append and wait for nothing":
    await appendAndLeave();
    break;
  case "open and leave":
    sqliteStore(path);
    say("opened");
    break;
  case "open and close when told":
    openUntilTold();
    break;
  case "share":
    lockFile(path, true);
    setInterval(() => {}, 1_000);
    say("shared");
    break;
  case "share until told":
    shareUntilTold();
    break;
  case "take leases":
    await takeLeases(Number(name));
    break;
  case "migrate slowly":
    migrateSlowly();
    break;
  case "delete an owner":
    await deleteOwner();
    break;
  case "race":
    await race();
    break;
  default:
    throw new Error(`nothing is called ${what}`);
}

/** Eight callers whose tasks grow without end; each line is a task and the position that was acknowledged. */
async function appendForEver(): Promise<void> {
  const store = sqliteStore({ path, synchronous: mode === "NORMAL" ? "NORMAL" : "FULL" });
  const grow = async (caller: number): Promise<void> => {
    for (let task = 0; ; task++) {
      let head = await create(store, { taskId: `${name}-${caller}-${task}`, state: 1 });
      say(`${head.taskId} ${head.position}`);
      for (let turn = 0; turn < 5; turn++) {
        head = await follow(store, head, { state: turn === 4 ? 3 : 2, statusTime: 1_000 + turn }, 1 + (turn % 3));
        say(`${head.taskId} ${head.position}`);
      }
    }
  };
  await Promise.all(Array.from({ length: 8 }, (_, caller) => grow(caller)));
}

/**
 * Runs callers whose tasks have a push configuration, grow and end, and a holder that delivers. Prints `appended` or
 * `delivered` with the task and the position of each acknowledgement.
 */
async function deliverForEver(): Promise<void> {
  const store = sqliteStore(path);
  const grow = async (caller: number): Promise<void> => {
    for (let task = 0; ; task++) {
      const taskId = `${name}-${caller}-${task}`;
      const head = headOf({ taskId, state: 1 });
      const pushConfig = configOf({ taskId, configId: "x", maxPerOwner: Number.MAX_SAFE_INTEGER });
      const creates = { head, expected: 0, creates: true, entries: numbered(0, 1), pushConfig, time: Date.now() };
      await store.append(creates);
      say(`appended ${taskId} 1`);
      if (task % 3 === 0) await store.putPushConfig({ ...pushConfig, taskId, configId: "y", now: Date.now() });
      for (let position = 1; position < 5; position++) {
        const row = { state: position === 4 ? 3 : 2, statusTime: Date.now() };
        await store.append({ ...followRequest({ ...head, position }, row), time: Date.now() });
        say(`appended ${taskId} ${position + 1}`);
      }
      if (task % 5 === 0) await store.deletePushConfig({ taskId, configId: "y" });
    }
  };
  const deliver = async (): Promise<void> => {
    for (let round = 0; ; round++) {
      const all = await store.claimDeliveries({ holder: name, leaseMs: 60_000, now: Date.now(), limit: 20 });
      if (all.length === 0) await sleep(1);
      if (round % 10 === 0) await store.redriveDeliveries({ now: Date.now() });
      await Promise.all(all.map((one, index) => complete(one, round + index)));
    }
  };
  const complete = async ({ taskId, configId, claim, position }: ClaimedDelivery, turn: number): Promise<void> => {
    const progress = { key: { taskId, configId }, holder: name, claim };
    const kind = (["done", "done", "retry", "dead", "later"] as const)[turn % 5] ?? "done";
    const outcome = { kind, at: Date.now(), failure: "no", failingSince: Date.now() };
    const end = kind === "done" ? ((await store.head({ taskId }))?.position ?? position) : position;
    const said = await store.completeDelivery({ ...progress, position: end, outcome });
    if (said === "more")
      await store.completeDelivery({ ...progress, position: end, outcome: { kind: "later", at: 0 } });
    if (said !== "lost" && configId === "x") say(`delivered ${taskId} ${end}`);
  };
  await Promise.all([...Array.from({ length: 8 }, (_, caller) => grow(caller)), deliver()]);
}

/** Opens the file exclusively, gives deliveries up, and prints the tasks whose deliveries become due again. */
async function giveUpAndLook(): Promise<void> {
  const store = sqliteStore(path);
  for (const taskId of ["a", "b", "c"]) {
    const head = await create(store, { taskId });
    for (const configId of ["x", "y"]) await store.putPushConfig(configOf({ taskId, configId }));
    await follow(store, head);
  }
  const claim = { holder: "me", leaseMs: 60_000, limit: 100 };
  for (const { taskId, configId, position, claim: number } of await store.claimDeliveries({ ...claim, now: 9_999 })) {
    const progress = { key: { taskId, configId }, holder: "me", claim: number, position };
    await store.completeDelivery({ ...progress, outcome: { kind: "dead", at: 5_000, failure: "refused" } });
  }
  say("given up");
  for (;;) {
    // The loop polls, because this process itself causes no notification.
    await sleep(20);
    for (const { taskId, configId } of await store.claimDeliveries({ ...claim, now: Date.now() })) {
      say(`${taskId} ${configId}`);
    }
  }
}

async function appendAndClose(): Promise<void> {
  const store = sqliteStore(path);
  await create(store, { taskId: "a" });
  await store.close();
  say("closed");
}

/** Nothing but the append itself keeps this process alive, and nothing ends it but its end. */
async function appendAndLeave(): Promise<void> {
  const store = sqliteStore(path);
  await create(store, { taskId: "a" });
  say("appended");
}

/** Keeps a store open until it is asked to close it, and takes a moment for that. */
function openUntilTold(): void {
  const store = sqliteStore(path);
  const stay = setInterval(() => {}, 1_000);
  process.once("SIGTERM", () => {
    clearInterval(stay);
    say("ending");
    setTimeout(async () => {
      await store.close();
      say("closed");
    }, 300);
  });
  say("opened");
}

/** Shares the file, as a store of any version does, until it is asked to end. */
function shareUntilTold(): void {
  const lock = lockFile(path, true);
  const stay = setInterval(() => {}, 1_000);
  process.once("SIGTERM", () => {
    clearInterval(stay);
    say("ending");
    setTimeout(() => lock.release(), 300);
  });
  say("shared");
}

/** Takes leases and never exits. */
async function takeLeases(count: number): Promise<void> {
  const store = sqliteStore(path);
  setInterval(() => {}, 1_000);
  for (let index = 0; index < count; index++) {
    await create(store, { taskId: `task-${index}`, lease: leaseOf() });
    say(`task-${index}`);
  }
}

/** Prints its progress after each part, and waits long enough to be killed there. */
function migrateSlowly(): void {
  migrate(openDatabase(path), SCHEMA_VERSION, (bytes) => {
    say(String(bytes));
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200);
  });
}

/** Claims deliveries, prints them, and ends every second one. */
async function deliverSome(store: TaskStore, round: number): Promise<void> {
  const request = { holder: name, leaseMs: 60_000, now: 9_999, limit: 3 };
  for (const { taskId, configId, claim } of await store.claimDeliveries(request)) {
    say(`delivering ${taskId}`);
    if (round % 2 === 0) continue;
    const progress = { key: { taskId, configId }, holder: name, claim, position: 2 };
    say(`completed ${taskId} ${await store.completeDelivery({ ...progress, outcome: { kind: "done" } })}`);
  }
}

/** One of several processes on one file: claims what it can get, and tries to be the one that writes each position. */
async function race(): Promise<void> {
  const store = sqliteStore({ path, shared: true });
  for (let round = 0; round < 20; round++) {
    const taskId = `${name}-${round}`;
    const created = await create(store, { taskId, lease: leaseOf({ holder: NO_HOLDER }) });
    await store.putPushConfig(configOf({ taskId, configId: "x" }));
    await follow(store, created);
    const head = await store.head({ taskId: "contested" });
    if (head === undefined) continue;
    const won = await follow(store, head, {}).then(
      () => true,
      () => false,
    );
    if (won) say(`won ${head.position + 1}`);
    const claimed = await store.claimLeases({ holder: name, leaseMs: 60_000, limit: 3 });
    for (const { taskId } of claimed) say(`claimed ${taskId}`);
    await deliverSome(store, round);
  }
  await store.close();
}

/** An operator deletes all of `gone`, page by page; each line is one more commit. */
async function deleteOwner(): Promise<void> {
  const store = sqliteStore(path);
  const engine = createEngine({ store, agentOf: () => undefined });
  await engine.start();
  const { deleteOwner } = ownerOperations({ store, engine } as unknown as AdminParts);
  let commits = 0;
  const counting = setInterval(() => {
    if (store.statistics.commits === commits) return;
    commits = store.statistics.commits;
    say(`commit ${commits}`);
  }, 1);
  const { tasks } = await deleteOwner(createMessage(DeleteOwnerRequestSchema, { owner: "gone" }), {
    call: {},
  } as never);
  clearInterval(counting);
  say(`deleted ${tasks}`);
  await engine.drain(0);
  await store.close();
}
