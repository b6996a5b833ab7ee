import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { JsonObject } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { sqliteStore } from "../../src/store/sqlite/index.js";
import type { Driver, Reply } from "../support/driver.js";
import { bindingOf } from "../support/drivers.js";
import { textAt, valueAt } from "../support/json-path.js";
import { scaled } from "../support/soak.js";
import { patience } from "./run.js";
import { setups } from "./setups.js";
import { serve } from "./worlds.js";

const rounds = scaled(10, 40);

vi.setConfig({ testTimeout: patience });
let driver: Driver;
let close = async (): Promise<void> => {};

beforeAll(async () => {
  const directory = mkdtempSync(join(tmpdir(), "parley-"));
  // The store writes in a thread, so others may read an entry before its writer learns of the commit.
  const { server, address } = await serve(
    setups.main,
    sqliteStore({ path: join(directory, "races.db"), synchronous: "NORMAL" }),
  );
  driver = bindingOf("jsonrpc").connect(address);
  close = async () => {
    driver.close();
    await server.close();
    rmSync(directory, { recursive: true });
  };
});
afterAll(() => close());

function send(text: string, more: JsonObject = {}, headers: Record<string, string> = {}): Promise<Reply> {
  const message = { messageId: "m", role: "ROLE_USER", parts: [{ text }], ...more };
  return driver.call("SendMessage", { message }, { headers });
}

describe("while tasks are made", () => {
  it("a list has whole tasks, of the state that it was asked for [SRV-GEN-09 SRV-LIST-10]", async () => {
    let making = true;
    const made = (async () => {
      for (let i = 0; i < rounds; i++) await Promise.all([send("quiet"), send("quiet"), send("quiet")]);
      making = false;
    })();
    while (making) {
      const { message, error } = await driver.call("ListTasks", { pageSize: 5, status: "TASK_STATE_COMPLETED" });
      expect(error).toBeUndefined();
      for (const task of (message?.tasks ?? []) as JsonObject[]) {
        expect(task).toMatchObject({ id: expect.any(String), status: { state: "TASK_STATE_COMPLETED" } });
      }
    }
    await made;
  });

  it("a task that a list has is found [SRV-GET-01]", async () => {
    let making = true;
    const made = (async () => {
      for (let i = 0; i < rounds; i++) await Promise.all([send("quiet"), send("quiet"), send("quiet")]);
      making = false;
    })();
    while (making) {
      const { message } = await driver.call("ListTasks", { pageSize: 1 });
      for (const { id = "" } of (message?.tasks ?? []) as JsonObject[]) {
        expect((await driver.call("GetTask", { id })).error).toBeUndefined();
      }
    }
    await made;
  });

  it("sends under one key are one task [SRV-SEND-14]", async () => {
    for (let i = 0; i < rounds; i++) {
      const key = { "Idempotency-Key": `key-${i}` };
      const replies = await Promise.all([0, 1, 2, 3].map(() => send("quiet", {}, key)));
      expect(replies.map(({ error }) => error)).toEqual([undefined, undefined, undefined, undefined]);
      const ids = new Set(replies.map(({ message }) => (message as { task: { id: string } }).task.id));
      expect(ids.size).toBe(1);
    }
  });

  it("whoever subscribes to a task that has just asked hears the answer [SRV-SUB-06 SRV-SUB-07]", async () => {
    for (let i = 0; i < rounds; i++) {
      const { message } = await send("ask Which one?");
      const { id: taskId } = (message as { task: { id: string } }).task;
      const stream = driver.stream("SubscribeToTask", { id: taskId });
      expect(await stream.next()).toMatchObject({ message: { task: { id: taskId } } });
      await send("quiet", { taskId });
      const { messages } = await stream.rest();
      expect(messages).toMatchObject([{ statusUpdate: { status: { state: "TASK_STATE_COMPLETED" } } }]);
    }
  });
});

/** Texts of the parts of an artifact in an event or a task. */
function textsIn(artifact: unknown): string[] {
  return ((artifact as { parts?: { text: string }[] } | undefined)?.parts ?? []).map(({ text }) => text);
}

const pieces = Array.from({ length: 400 }, (_, i) => `piece ${i + 1}`);

describe("while events fly", () => {
  it("a reader who comes late has every piece once, in the task or as an event [SRV-SUB-05 SRV-STRM-09]", async () => {
    for (let skip = 1; skip <= 400; skip += 37) {
      const first = driver.stream("SendStreamingMessage", sendRequest(`stream ${pieces.length}`));
      const begin = await first.next();
      const id = textAt("message" in begin ? begin.message : undefined, "task.id");
      for (let i = 0; i < skip; i++) await first.next();
      const late = await driver.stream("SubscribeToTask", { id }).rest();
      await first.rest();
      // A reader that comes after the end gets this error.
      if (late.error !== undefined) expect(late.error.reason).toBe("UNSUPPORTED_OPERATION");
      else expect(late.messages.flatMap(textsOf)).toEqual(pieces);
    }
  });

  it("a reader who leaves and comes back has every event once [SRV-SUB-05 SRV-STRM-09]", async () => {
    const uri = "urn:parley:ext:resume:v1";
    const options = { headers: { "A2A-Extensions": uri } };
    const sent = driver.stream("SendStreamingMessage", sendRequest(`stream ${pieces.length}`), options);
    const begin = await sent.next();
    const id = textAt("message" in begin ? begin.message : undefined, "task.id");
    sent.hangUp();
    const seen: number[] = [1];
    const texts: string[] = [];
    // Events: created, working, the pieces, completed.
    while (seen.length < pieces.length + 3) {
      const headers = { ...options.headers, "Parley-After-Generation": `${seen.at(-1)}` };
      const stream = driver.stream("SubscribeToTask", { id }, { headers });
      expect(await stream.next()).toMatchObject({ message: { task: { id } } });
      for (let i = 0; i < 29; i++) {
        const item = await stream.next();
        if (!("message" in item)) break;
        const event = (item.message.statusUpdate ?? item.message.artifactUpdate) as JsonObject;
        seen.push((valueAt(event, "metadata") as Record<string, { generation: number }>)[uri]?.generation ?? 0);
        texts.push(...textsIn(event.artifact));
      }
      stream.hangUp();
    }
    expect(seen).toEqual(Array.from({ length: pieces.length + 3 }, (_, i) => i + 1));
    expect(texts).toEqual(pieces);
  });
});

function sendRequest(text: string): JsonObject {
  return { message: { messageId: "m", role: "ROLE_USER", parts: [{ text }] } };
}

/** Texts of the pieces in a message of a stream. */
function textsOf({ task, artifactUpdate }: JsonObject): string[] {
  if (task !== undefined) return textsIn(valueAt(task, "artifacts[0]"));
  return textsIn(valueAt(artifactUpdate, "artifact"));
}
