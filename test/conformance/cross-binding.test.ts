import { randomUUID } from "node:crypto";
import type { JsonObject } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { memoryStore } from "../../src/store/memory/index.js";
import type { Driver, OpenStream } from "../support/driver.js";
import { bindings } from "../support/drivers.js";
import { textAt } from "../support/json-path.js";
import { gates } from "./agents.js";
import { patience } from "./run.js";
import { setups } from "./setups.js";
import { serve } from "./worlds.js";

vi.setConfig({ testTimeout: patience });

const names = bindings.map(({ name }) => name);
const pairs = names.flatMap((one) => names.filter((other) => other !== one).map((other) => [one, other] as const));
const drivers = new Map<string, Driver>();
let close = async (): Promise<void> => {};

beforeAll(async () => {
  const { server, address } = await serve(setups.main, memoryStore());
  for (const binding of bindings) drivers.set(binding.name, binding.connect(address));
  close = async () => {
    for (const driver of drivers.values()) driver.close();
    await server.close();
  };
});
afterAll(() => close());

const over = (name: string): Driver => drivers.get(name) as Driver;
const unique = (what: string): string => `${what}-${randomUUID()}`;

function message(text: string, more: JsonObject = {}): JsonObject {
  return { message: { messageId: unique("m"), role: "ROLE_USER", parts: [{ text }], ...more } };
}

async function ok(driver: Driver, rpc: string, request: JsonObject): Promise<JsonObject> {
  const reply = await driver.call(rpc, request);
  expect(reply.error).toBeUndefined();
  return reply.message as JsonObject;
}

async function take(stream: OpenStream, count: number): Promise<JsonObject[]> {
  const taken: JsonObject[] = [];
  while (taken.length < count) {
    const item = await stream.next();
    if (!("message" in item)) throw new Error(`The stream is over: ${JSON.stringify(item)}`);
    taken.push(item.message);
  }
  return taken;
}

describe.each(pairs)("a task made over %s, over %s", (one, other) => {
  it("is read as it is there, and continued [SRV-GEN-03 SRV-GEN-04]", async () => {
    const made = (await ok(over(one), "SendMessage", message("ask Which one?"))).task as JsonObject;
    expect(await ok(over(other), "GetTask", { id: made.id as string })).toEqual(made);
    const again = message("echo blue", { taskId: made.id as string });
    const continued = (await ok(over(other), "SendMessage", again)).task as JsonObject;
    expect(continued).toMatchObject({
      id: made.id,
      contextId: made.contextId,
      status: { state: "TASK_STATE_COMPLETED" },
    });
    expect(await ok(over(one), "GetTask", { id: made.id as string })).toEqual(continued);
  });

  it("is listed in the same pages [SRV-GEN-04 SRV-LIST-02]", async () => {
    const contextId = unique("context");
    for (let i = 0; i < 3; i++) await ok(over(one), "SendMessage", message("quiet", { contextId }));
    const first = await ok(over(one), "ListTasks", { contextId, pageSize: 2 });
    expect(await ok(over(other), "ListTasks", { contextId, pageSize: 2 })).toEqual(first);
    const next = { contextId, pageSize: 2, pageToken: first.nextPageToken as string };
    const second = await ok(over(other), "ListTasks", next);
    expect(second).toEqual(await ok(over(one), "ListTasks", next));
    expect(second.tasks).toHaveLength(1);
  });

  it("is followed in the same events, and canceled [SRV-STRM-12 SRV-STRM-13 SRV-GEN-04]", async () => {
    const gate = unique("gate");
    const sent = over(one).stream("SendStreamingMessage", message(`half ${gate}`));
    const [begin] = await take(sent, 3);
    const id = textAt(begin, "task.id");
    const subscribed = over(other).stream("SubscribeToTask", { id });
    const [snapshot] = await take(subscribed, 1);
    expect(snapshot?.task).toEqual(await ok(over(one), "GetTask", { id }));
    await ok(over(other), "CancelTask", { id });
    gates.open(gate);
    const [left, right] = await Promise.all([sent.rest(), subscribed.rest()]);
    expect(left.messages).toMatchObject([{ artifactUpdate: {} }, { statusUpdate: {} }].slice(-left.messages.length));
    expect(right.messages).toEqual(left.messages);
  });

  it("is the same send under the same key [SRV-SEND-14]", async () => {
    const options = { headers: { "Idempotency-Key": unique("key") } };
    const request = message("echo once");
    const first = await over(one).call("SendMessage", request, options);
    const second = await over(other).call("SendMessage", request, options);
    expect(second.message).toEqual(first.message);
  });
});

it("the same request has the same answer over every binding [SRV-GEN-02 SRV-GEN-04]", async () => {
  for (const command of ["echo hi", "data", "file", "annotated", "stream 3", "ask Why?", "fail No.", "reject No."]) {
    const request = { message: { messageId: "m", contextId: "c", role: "ROLE_USER", parts: [{ text: command }] } };
    const answers = await Promise.all(names.map(async (name) => masked(await ok(over(name), "SendMessage", request))));
    for (const answer of answers) expect(answer).toEqual(answers[0]);
  }
});

it("the same mistake has the same error over every binding [SRV-GEN-05 SRV-ERR-19]", async () => {
  const mistakes: [string, JsonObject][] = [
    ["GetTask", { id: "unknown" }],
    ["CancelTask", { id: "unknown", metadata: { a: 1 } }],
    ["SendMessage", { message: { messageId: "", role: "ROLE_AGENT", parts: [{}] } }],
    ["ListTasks", { pageSize: 101, historyLength: -1 }],
    ["GetExtendedAgentCard", {}],
  ];
  for (const [rpc, request] of mistakes) {
    const errors = await Promise.all(names.map(async (name) => (await over(name).call(rpc, request)).error));
    for (const error of errors) {
      expect(error?.message).toEqual(errors[0]?.message);
      expect(error?.details).toEqual(errors[0]?.details);
      expect(error?.reason).toBeDefined();
    }
  }
});

/** Replaces the ids and times of an answer, which differ between calls. */
function masked(json: JsonObject): unknown {
  return JSON.parse(
    JSON.stringify(json, (name, value) => {
      const made =
        ["id", "taskId", "artifactId", "timestamp"].includes(name) || (name === "messageId" && value !== "m");
      return made ? `some ${name}` : value;
    }),
  );
}
