import { createServer } from "node:net";
import { create } from "@bufbuild/protobuf";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { TaskPushNotificationConfigSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { AttemptRing, answerText, rememberedAttempts, secretsOf } from "../../src/push/attempt-history.js";
import { memoryStore } from "../../src/store/memory/index.js";
import type { FailedAttempt, TaskStore } from "../../src/store/task-store.js";
import { type Answer, accept, Receiver, refuse } from "./receiver.js";
import { Log, Rig } from "./rig.js";

const patience = { timeout: 20_000, interval: 10 };

let store: TaskStore;
let receiver: Receiver;

beforeEach(async () => {
  store = memoryStore();
  receiver = await Receiver.start();
  onTestFinished(() => receiver.stop());
});

/** Delivers a new task to a receiver that answers like this, until an attempt has failed. */
async function failing(answer: Answer, limits: object = {}): Promise<{ attempt: FailedAttempt; one: Rig; log: Log }> {
  receiver.answer = answer;
  const one = await new Rig(store, { receivers: [receiver], limits }).start();
  const log = await Log.create(store, [receiver.url("/secret-path-1?key=secret-query-1")]);
  one.news();
  const key = { taskId: log.head.taskId, configId: "/secret-path-1" };
  await expect.poll(() => store.listAttempts(key), patience).not.toEqual([]);
  const [attempt] = await store.listAttempts(key);
  if (attempt === undefined) throw new Error("no attempt failed");
  return { attempt, one, log };
}

describe("a failed attempt", () => {
  it("is stored with time, duration, generation, status, answer, failure and holder", async () => {
    const before = Date.now();
    const { attempt, one } = await failing((_, response) => void response.writeHead(500).end("out of\u0007 order\n"));
    expect(attempt).toEqual({
      time: expect.any(Number),
      durationMs: expect.any(Number),
      generation: 1,
      status: 500,
      answer: "out of order",
      failure: "the receiver answered 500",
      holder: one.pushes.holder,
    });
    expect(attempt.time).toBeGreaterThanOrEqual(before - 1);
    expect(attempt.time).toBeLessThanOrEqual(Date.now());
    expect(Number.isInteger(attempt.durationMs)).toBe(true);
  });

  it("has the beginning of a body of 10 MB", async () => {
    const body = Buffer.alloc(10 * 1024 * 1024, "é");
    const { attempt } = await failing((_, response) => void response.writeHead(500).end(body));
    expect(attempt.answer).toBe("é".repeat(256));
    expect(attempt.status).toBe(500);
  });

  it("has what came of an answer that stalls", async () => {
    const stall: Answer = (_, response) => void response.writeHead(200).write("half");
    const { attempt } = await failing(stall, { pushTimeoutMs: 1_500 });
    expect(attempt).toMatchObject({ status: 200, answer: "half", failure: "the answer did not end within 1500 ms" });
    expect(attempt.durationMs).toBeGreaterThanOrEqual(1_499);
  });

  it("has what came of an answer that is cut off", async () => {
    const cut: Answer = (_, response) => {
      response.writeHead(200, { "content-length": "100" });
      response.write("half", () => response.destroy());
    };
    const { attempt } = await failing(cut);
    expect(attempt).toMatchObject({ status: 200, answer: "half" });
    expect(attempt.failure).not.toBe("");
  });

  it("follows no redirect", async () => {
    const private_ = createServer((socket) => socket.destroy());
    let connections = 0;
    private_.on("connection", () => connections++);
    await new Promise<void>((resolve) => private_.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void private_.close());
    const location = `http://127.0.0.1:${(private_.address() as { port: number }).port}/`;
    const { attempt } = await failing(refuse(302, { location }));
    expect(attempt).toMatchObject({ status: 302, failure: "the receiver answered 302" });
    expect(connections).toBe(0);
  });

  it("has none of the secrets that a receiver repeats, nor has the log", async () => {
    const echo: Answer = ({ path, headers, body }, response) =>
      void response.writeHead(500).end(JSON.stringify({ path, token: headers["x-a2a-notification-token"], body }));
    const { attempt, one } = await failing(echo);
    expect(attempt.answer).toContain("[redacted]");
    const told = JSON.stringify([attempt, one.logged, one.debugged]);
    // The id of the configuration is the path in these tests.
    for (const secret of ["secret-query", "token of", "key="]) expect(told).not.toContain(secret);
    expect(JSON.stringify([one.logged, one.debugged])).not.toContain("redacted");
  });
});

describe("an accepted attempt", () => {
  it("is remembered by the process, and not stored", async () => {
    receiver.answer = (_, response) => void response.writeHead(200).end("ok");
    const one = await new Rig(store, { receivers: [receiver] }).start();
    const log = await Log.create(store, [receiver.url("/a"), receiver.url("/b")]);
    one.news();
    const key = { taskId: log.head.taskId, configId: "/a" };
    await expect.poll(() => one.operations.attemptsOf(key), patience).toHaveLength(1);
    expect(one.operations.attemptsOf(key)).toMatchObject([
      { ...key, status: 200, answer: "ok", failure: "", generation: 1, byOperator: false },
    ]);
    expect(await store.listAttempts(key)).toEqual([]);
    receiver.answer = accept;
  });
});

describe("AttemptRing", () => {
  it("keeps the last ones, however many there are", () => {
    const ring = new AttemptRing();
    const config = create(TaskPushNotificationConfigSchema, { url: "https://hooks.example/" });
    const result = { status: 204, body: undefined, failure: "", byOperator: false };
    const facts = { time: 0, durationMs: 0, config, ...result };
    for (let generation = 0; generation < rememberedAttempts * 2.5; generation++) {
      ring.add({ ...facts, taskId: "t", configId: `${generation % 2}`, generation });
    }
    const odd = ring.of({ taskId: "t", configId: "1" });
    expect(odd).toHaveLength(rememberedAttempts / 2);
    expect(Math.min(...odd.map(({ generation }) => generation))).toBeGreaterThanOrEqual(rememberedAttempts * 1.5);
  });
});

describe("answerText()", () => {
  const config = create(TaskPushNotificationConfigSchema, {
    url: "https://hooks.example/services/T0000/B0000/abcdefghij?token=s%2Fecret-value",
    token: 'tok"en/1',
    authentication: { scheme: "Bearer", credentials: "cred/ential" },
  });
  const shown = (text: string, isWhole = true): string =>
    answerText({ bytes: Buffer.from(text), isWhole }, () => secretsOf(config));

  it.each([
    ["the URL", `POST ${config.url}`, "POST https://hooks.example[redacted]"],
    ["its query", "token=s%2Fecret-value", "[redacted]"],
    ["a decoded value", "got s/ecret-value", "got [redacted]"],
    ["the end of the path", "no hook abcdefghij", "no hook [redacted]"],
    ["the token", `bad ${config.token}`, "bad [redacted]"],
    ["the token in JSON", JSON.stringify(config.token), '"[redacted]"'],
    ["the token in JSON with escaped slashes", '"tok\\"en\\/1"', '"[redacted]"'],
    ["the credentials", "Bearer cred/ential", "Bearer [redacted]"],
    ["the encoded credentials", "cred%2Fential", "[redacted]"],
  ])("hides %s", (_, text, expected) => {
    expect(shown(text)).toBe(expected);
  });

  it("hides the beginning of a secret whose rest was not read", () => {
    expect(shown("it was cred/en", false)).toBe("it was");
    expect(shown("it was cred/en", true)).toBe("it was cred/en");
  });

  it("is printable, in one line, and at most 512 bytes", () => {
    expect(shown("a\u001b[31mb\u202ec\r\n\td\u0000\u2028e")).toBe("a [31mb c d e");
    expect(answerText({ bytes: Uint8Array.of(0xff, 0x41, 0xc3), isWhole: false }, () => [])).toBe("\ufffdA\ufffd");
    const long = shown("€".repeat(4_000));
    expect(Buffer.byteLength(long)).toBe(510);
    expect(answerText(undefined, () => [])).toBe("");
  });
});
