import { createHash, createPublicKey, verify } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { MessageSchema, PartSchema, Role, type Task, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { silentLogger } from "../../src/core/log.js";
import { encryptStored } from "../../src/push/rotation.js";
import { ConfigVault } from "../../src/push/secrets.js";
import { createPushSigner } from "../../src/push/signature/signer.js";
import { pushedTask } from "../../src/push/task-bodies.js";
import { memoryStore } from "../../src/store/memory/index.js";
import type { PushDialect } from "../../src/version/version.js";
import { keyPair } from "../card/signing/keys.js";
import { setConstants } from "../support/constants.js";
import { Receiver, refuse } from "./receiver.js";
import { chunk, Log, Rig, type RigOptions, status } from "./rig.js";

const patience = { timeout: 20_000, interval: 10 };

const textOf = (task: Task): string =>
  task.artifacts.flatMap(({ parts }) => parts.map(({ content }) => content.value)).join("");

/** A version that shows of a task what its receivers need to tell it from that of another event. */
const form: PushDialect = {
  mediaType: "application/json",
  write: (task) =>
    JSON.stringify({
      id: task.id,
      state: TaskState[task.status?.state ?? 0],
      text: textOf(task),
      messages: task.history.length,
    }),
  isSigned: ({ authentication }) => authentication?.scheme === "jwt",
};

const dialectOf = (version: string): Promise<PushDialect | undefined> =>
  Promise.resolve(version === "0.9" ? form : undefined);

const said = (text: string): Parameters<Log["append"]>[0][number] => {
  const parts = [create(PartSchema, { content: { case: "text", value: text } })];
  return { case: "message", value: create(MessageSchema, { messageId: "m", role: Role.USER, parts }) };
};

async function world(options: Partial<RigOptions> = {}) {
  const store = memoryStore();
  const receiver = await Receiver.start();
  onTestFinished(() => receiver.stop());
  const rig = new Rig(store, { receivers: [receiver], dialectOf, ...options });
  const log = await Log.create(store, []);
  const bodies = (path: string): object[] => receiver.of(path).map(({ body }) => JSON.parse(body));
  return { store, receiver, rig, log, bodies };
}

describe("a configuration of another version", () => {
  it("gets the task as of each status, in order, also of what waits since long ago", async () => {
    const { receiver, rig, log, bodies } = await world();
    await log.configure(receiver.url("/old"), "0.9");
    await log.append([status(TaskState.WORKING), chunk("1"), status(TaskState.INPUT_REQUIRED), said("go on")]);
    await log.append([chunk("2"), status(TaskState.WORKING), chunk("3")]);
    await log.complete();
    await rig.start();
    await expect.poll(() => bodies("/old").length, patience).toBe(4);
    const id = log.head.taskId;
    expect(bodies("/old")).toEqual([
      { id, state: "WORKING", text: "", messages: 0 },
      { id, state: "INPUT_REQUIRED", text: "1", messages: 0 },
      { id, state: "WORKING", text: "12", messages: 1 },
      { id, state: "COMPLETED", text: "123", messages: 1 },
    ]);
    expect(receiver.overlaps).toBe(0);
  });

  it.each([
    ["in one go", 1],
    ["as the events come", 40],
  ])("has its task read once for all of its events, %s, however large it is", async (_how, times) => {
    const events = 40;
    const { store, receiver, rig, log, bodies } = await world();
    const load = vi.spyOn(store, "load");
    const read = vi.spyOn(store, "read");
    await log.configure(receiver.url("/old"), "0.9");
    // A task larger than the dispatcher sends without waiting for room.
    await log.append([chunk("x".repeat(200 * 1024))]);
    await rig.start();
    for (let sent = 0; sent < events; ) {
      const more = Array.from({ length: events / times }, () => status(TaskState.WORKING));
      await log.append(more);
      sent += more.length;
      rig.news();
      await expect.poll(() => bodies("/old").length, patience).toBe(sent);
    }
    expect(load.mock.calls.length).toBeLessThanOrEqual(2);
    // The log itself is read page by page, from where the last notification was.
    expect(read.mock.calls.length).toBeLessThan(6 * times + events / 4);
    expect(bodies("/old").at(-1)).toMatchObject({ state: "WORKING", text: expect.stringMatching(/^x+$/) });
  });

  it("says so in its headers, beside one that gets what it always got", async () => {
    const headers = { "user-agent": "parley" };
    const { receiver, rig, log } = await world({ headers, nativeHeaders: { "a2a-version": "1.0" } });
    await log.configure(receiver.url("/old"), "0.9");
    await log.configure(receiver.url("/new"));
    await rig.start();
    await log.append([status(TaskState.WORKING)]);
    rig.news();
    await expect.poll(() => receiver.hits.length, patience).toBe(2);
    const [old, current] = [receiver.of("/old")[0], receiver.of("/new")[0]];
    expect(old?.headers).toMatchObject({
      "content-type": "application/json",
      "x-a2a-notification-token": "token of /old",
      "parley-generation": "2",
      "user-agent": "parley",
    });
    expect(old?.headers).not.toHaveProperty("a2a-version");
    expect(current?.headers).toMatchObject({ "content-type": "application/a2a+json", "a2a-version": "1.0" });
    expect(JSON.parse(current?.body ?? "")).toHaveProperty("statusUpdate");
  });

  it("gets each event again until it is taken, as it was", async () => {
    const { receiver, rig, log, bodies } = await world();
    receiver.answer = (hit, response, request) =>
      receiver.hits.length < 3 ? refuse(500)(hit, response, request) : void response.writeHead(204).end();
    await log.configure(receiver.url("/old"), "0.9");
    await rig.start();
    await log.append([chunk("1"), status(TaskState.WORKING)]);
    rig.news();
    await expect.poll(() => receiver.hits.length, patience).toBeGreaterThan(0);
    await log.append([chunk("2")]);
    await log.complete();
    rig.news();
    await expect.poll(() => bodies("/old").at(-1), patience).toMatchObject({ state: "COMPLETED", text: "12" });
    const tries = bodies("/old").slice(0, 3);
    expect(tries).toEqual(Array(3).fill(expect.objectContaining({ state: "WORKING", text: "1" })));
    expect(new Set(receiver.hits.slice(0, 3).map(({ id }) => id)).size).toBe(1);
  });

  it("gets the task with what the option names, where that is other than a status", async () => {
    const { receiver, rig, log, bodies } = await world({ events: ["last-chunk", "completed"] });
    await log.configure(receiver.url("/old"), "0.9");
    await log.append([status(TaskState.WORKING), chunk("1"), chunk("2", true)]);
    await log.complete();
    await rig.start();
    await expect
      .poll(() => bodies("/old"), patience)
      .toEqual([
        expect.objectContaining({ state: "WORKING", text: "12" }),
        expect.objectContaining({ state: "COMPLETED", text: "12" }),
      ]);
  });

  it("gets a task that is too large without its artifacts, and then without its history", async () => {
    setConstants(pushedTask, { maxBytes: 2_000 });
    const { receiver, rig, log, bodies } = await world();
    await log.configure(receiver.url("/old"), "0.9");
    await log.append([said("hi"), status(TaskState.WORKING), chunk("x".repeat(3_000)), status(TaskState.WORKING)]);
    await log.append([said("y".repeat(3_000)), status(TaskState.WORKING)]);
    await rig.start();
    await expect
      .poll(() => bodies("/old"), patience)
      .toEqual([
        expect.objectContaining({ text: "", messages: 1 }),
        expect.objectContaining({ text: "", messages: 1 }),
        expect.objectContaining({ text: "", messages: 0 }),
      ]);
  });

  it("waits, and is given up in the end, where nobody knows its version any more", async () => {
    const { store, receiver, rig, log } = await world({ limits: { maxPushAgeMs: 100 } });
    await log.configure(receiver.url("/lost"), "0.8");
    await log.complete();
    await rig.start();
    const dead = (): ReturnType<typeof store.listDeadDeliveries> => store.listDeadDeliveries({ limit: 9 });
    await expect
      .poll(async () => (await dead())[0]?.failure, patience)
      .toBe("notifications of version 0.8 of the protocol are not known here");
    expect(receiver.hits).toEqual([]);
    await rig.control.redrive();
    await expect.poll(async () => (await dead()).length, patience).toBe(1);
  });

  it("keeps its version when what is stored of it is encrypted anew", async () => {
    const { store, receiver, log } = await world();
    await log.configure(receiver.url("/old"), "0.9");
    const keys = [new Uint8Array(32).fill(1)];
    const keyed = new ConfigVault(keys);
    const parts = { store, logger: silentLogger, isOver: () => false };
    expect(await encryptStored({ ...parts, vault: keyed })).toMatchObject({ encrypted: 1 });
    const again = new ConfigVault([new Uint8Array(32).fill(2), ...keys]);
    expect(await encryptStored({ ...parts, vault: again })).toMatchObject({ encrypted: 1 });
    const [{ bytes, ...key } = { bytes: new Uint8Array(), taskId: "", configId: "" }] = await store.scanPushConfigs({
      limit: 9,
    });
    expect(again.open(key, bytes)).toMatchObject({ version: "0.9", config: { url: receiver.url("/old") } });
  });

  it("is signed over what is sent, and with a bearer token where its client asked for one", async () => {
    const key = keyPair();
    const signer = await createPushSigner({
      signing: { keys: [{ key: key.pem, kid: "k1" }] },
      issuer: () => "https://a.example",
    });
    const { receiver, rig, log } = await world({ signer });
    await log.configure(receiver.url("/jwt"), "0.9", { scheme: "jwt" });
    await log.configure(receiver.url("/plain"), "0.9", { scheme: "Bearer", credentials: "abc" });
    await log.complete();
    await rig.start();
    await expect.poll(() => receiver.hits.length, patience).toBe(2);
    const [asked, plain] = [receiver.of("/jwt")[0], receiver.of("/plain")[0]];
    expect(plain?.headers.authorization).toBe("Bearer abc");
    const [head = "", claims = "", signature = ""] =
      asked?.headers.authorization?.replace("Bearer ", "").split(".") ?? [];
    const read = (part: string): unknown => JSON.parse(Buffer.from(part, "base64url").toString());
    const digest = createHash("sha256")
      .update(asked?.body ?? "")
      .digest("hex");
    expect(read(claims)).toEqual({ iat: expect.any(Number), request_body_sha256: digest });
    expect(read(head)).toMatchObject({ alg: "ES256", kid: "k1" });
    const publicKey = createPublicKey({ key: key.publicJwk as never, format: "jwk" });
    const bytes = Buffer.from(`${head}.${claims}`);
    const fits = verify(
      "sha256",
      bytes,
      { key: publicKey, dsaEncoding: "ieee-p1363" },
      Buffer.from(signature, "base64url"),
    );
    expect(fits).toBe(true);
    const [, own = ""] = String(plain?.headers["parley-signature"]).split(".");
    expect(read(own)).toMatchObject({
      digest: createHash("sha256")
        .update(plain?.body ?? "")
        .digest("base64url"),
    });
  });

  it("shows no scheme without credentials to a receiver that asked for signed posts, where nothing is signed", async () => {
    const { receiver, rig, log } = await world();
    await log.configure(receiver.url("/jwt"), "0.9", { scheme: "jwt" });
    await log.complete();
    await rig.start();
    await expect.poll(() => receiver.hits.length, patience).toBe(1);
    expect(receiver.hits[0]?.headers).not.toHaveProperty("authorization");
  });
});
