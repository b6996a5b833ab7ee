import type { RequestListener } from "node:http";
import { describe, expect, it } from "vitest";
import { createPushSigner } from "../../src/push/signature/signer.js";
import { createPushReceiver, type PushEvent, type PushReceiverOptions } from "../../src/push-receiver/index.js";
import { memoryStore } from "../../src/store/memory/index.js";
import type { Receiver } from "../push/receiver.js";
import { Log, Rig } from "../push/rig.js";
import { audience, bodyOf, issuer, kinds, listen, notification, post, type Sent, signing, trust } from "./world.js";

const patience = { timeout: 20_000, interval: 10 };

/** A receiver of this package behind a port, and a dispatcher that signs with everything. */
async function world(options: PushReceiverOptions) {
  const events: PushEvent[] = [];
  const logged: string[] = [];
  const note = (_: object, message: string): void => void logged.push(message);
  let handler: RequestListener = () => {};
  const url = await listen((request, response) => handler(request, response));
  const logger = { debug: note, info: note, warn: note, error: note };
  const receiver = createPushReceiver({ ...options, ...(options.servers && { audience: `${url}/hook` }), logger });
  handler = receiver.handler((event) => void events.push(event));
  const store = memoryStore();
  const signer = await createPushSigner({ signing, issuer: () => issuer });
  const receivers = [{ port: Number(new URL(url).port) } as Receiver];
  const one = await new Rig(store, { receivers, signer }).start();
  const log = await Log.create(store, [`${url}/hook`]);
  one.news();
  await expect.poll(() => events.length, patience).toBe(1);
  const test = () => one.operations.send({ taskId: log.head.taskId, configId: "/hook", generation: undefined });
  return { one, events, logged, test, log };
}

/** A test event as a Parley server signs it. */
async function testEvent(more: Record<string, string> = { "Parley-Test": "true" }): Promise<Sent> {
  const signer = await createPushSigner({ signing, issuer: () => issuer });
  const [taskId, configId, body] = ["task-1", "config-1", bodyOf("task-1", "a test")];
  const event = { id: "test_ABCDEFGHIJKLMNOPQRSTUVWXYZ0", taskId, configId, generation: 0, time: Date.now(), body };
  const signed = await signer.headers({ ...event, url: audience, token: "" });
  return { headers: { "content-type": "application/a2a+json", "Parley-Generation": "0", ...signed, ...more }, body };
}

describe("a receiver that gets a test event", () => {
  it.each(kinds)("verifies it by %s, answers 204, and shows it to no handler", async (kind) => {
    const { one, events, logged, test, log } = await world(trust[kind]);
    for (let times = 0; times < 2; times++) expect(await test()).toMatchObject({ status: 204, failure: "" });
    expect(events).toHaveLength(1);
    expect(logged).toEqual(["a test event arrived", "a test event arrived"]);
    // A test event does not count as handled, so the next event is new.
    await log.complete();
    one.news();
    await expect.poll(() => events.length, patience).toBe(2);
    expect(events.map(({ isTest, order, generation }) => ({ isTest, order, generation }))).toEqual([
      { isTest: false, order: "new", generation: 1 },
      { isTest: false, order: "new", generation: 2 },
    ]);
  });

  it.each(kinds)("refuses one with a wrong signature of %s", async (kind) => {
    const receiver = createPushReceiver(trust[kind]);
    const { headers } = await testEvent();
    const forged = receiver.receive({ headers, body: bodyOf("task-1", "another text") });
    await expect(forged).rejects.toMatchObject({ code: "signature" });
  });

  it.each(kinds)("says so to a program that receives by itself, by %s", async (kind) => {
    const receiver = createPushReceiver(trust[kind]);
    for (const sent of [await testEvent(), await testEvent({})]) {
      const event = await receiver.receive(sent);
      expect(event).toMatchObject({ isTest: true, isRepeat: false, generation: undefined, taskId: "task-1" });
      await receiver.handled(event);
      expect((await receiver.receive(sent)).isRepeat).toBe(false);
    }
  });

  it.each(kinds)("believes no mark on an event that is none, by %s", async (kind) => {
    const receiver = createPushReceiver(trust[kind]);
    const { headers, body } = await notification(signing, { generation: 3 });
    const marked = receiver.receive({ headers: { ...headers, "Parley-Test": "true" }, body });
    await expect(marked).rejects.toMatchObject({ code: "signature" });
  });

  it("goes by the mark where nothing is signed", async () => {
    const receiver = createPushReceiver({ acceptUnsigned: true, tokens: ["a token of some length"] });
    const headers = { "content-type": "application/json", "X-A2A-Notification-Token": "a token of some length" };
    const body = bodyOf("task-1", "");
    const isTest = async (more: object): Promise<boolean> =>
      (await receiver.receive({ headers: { ...headers, ...more }, body })).isTest;
    expect(await isTest({ "Parley-Test": "true" })).toBe(true);
    expect(await isTest({})).toBe(false);
  });

  it("answers 204 by fetch as well", async () => {
    const events: PushEvent[] = [];
    const webhook = createPushReceiver(trust.v1).fetch((event) => void events.push(event));
    const { headers, body } = await testEvent();
    const answer = await webhook(new Request(audience, { method: "POST", headers, body }));
    expect([answer.status, events]).toEqual([204, []]);
    const url = await listen(createPushReceiver(trust.v1).handler((event) => void events.push(event)));
    expect((await post(url, { headers, body })).status).toBe(204);
    expect(events).toEqual([]);
  });
});
