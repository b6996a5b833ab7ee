import { afterEach, describe, expect, it } from "vitest";
import { type Agent, completed, createServer, inputRequired } from "../../src/index.js";
import { createPushReceiver, type PushEvent } from "../../src/push-receiver/index.js";
import type { Server } from "../../src/server/create-server.js";
import { backUpFile } from "../../src/store/sqlite/backup.js";
import { sqliteStore } from "../../src/store/sqlite/index.js";
import { restoreFile } from "../../src/store/sqlite/restore.js";
import { temporaryFile } from "../store/sqlite/files.js";
import { issuer, listen, signing, trust } from "./world.js";

const agent: Agent = {
  card: { name: "Asks", description: "Asks once.", version: "1.0.0" },
  async *execute({ text, history }) {
    yield history.length === 0 ? inputRequired("Which?") : completed(text);
  },
};

const running: Server[] = [];
afterEach(async () => {
  for (const server of running.splice(0)) await server.close({ graceMs: 0 });
});

async function serve(path: string, hook: string): Promise<string> {
  const server = await createServer({
    agent,
    store: sqliteStore(path),
    port: 0,
    grpcPort: false,
    publicUrl: issuer,
    allowedHosts: ["127.0.0.1"],
    limits: { maxPushRetryMs: 100 },
    push: { allowHttp: true, ports: [Number(new URL(hook).port)], allow: ["127.0.0.1"], signing },
  });
  running.push(server);
  return server.url;
}

async function send(url: string, text: string, of: { taskId?: string; hook?: string }): Promise<string> {
  const { hook, taskId } = of;
  const message = {
    messageId: `${text}-${Math.random()}`,
    role: "ROLE_USER",
    parts: [{ text }],
    ...(taskId && { taskId }),
  };
  const body =
    hook === undefined ? { message } : { message, configuration: { taskPushNotificationConfig: { url: hook } } };
  const headers = { "content-type": "application/json", "a2a-version": "1.0" };
  const answer = await fetch(`${url}/message:send`, { method: "POST", headers, body: JSON.stringify(body) });
  return ((await answer.json()) as { task: { id: string } }).task.id;
}

/** The receiver trusts every kind of signature, and the ids that others see are on the wire. */
describe.each(["jwt", "v1"] as const)("the webhook of a task that was restored from a backup, by %s", (kind) => {
  it("drops what it had, and gets what the task does now although the generations are taken", async () => {
    const wire: { id: unknown; generation: unknown; restoration: unknown }[] = [];
    const events: PushEvent[] = [];
    let isDown = false;
    const hook = await listen((request, response) => {
      const { "webhook-id": id, "parley-generation": generation, "parley-restoration": restoration } = request.headers;
      if (isDown) return void response.writeHead(503).end();
      wire.push({ id, generation, restoration });
      void webhook(request, response);
    });
    const receiver = createPushReceiver({ ...trust[kind], audience: `${hook}/` });
    const webhook = receiver.handler((event) => void events.push(event));
    const seen = (): unknown[] => events.map(({ generation, response: { payload } }) => [generation, payload.case]);

    const path = temporaryFile();
    const url = await serve(path, hook);
    const taskId = await send(url, "start", { hook });
    await expect.poll(() => events.length).toBe(2);
    const other = temporaryFile();
    const later = await send(url, "later", { hook });
    await expect.poll(() => events.length).toBe(4);
    isDown = true;
    // Not delivered when the backup is made.
    await send(url, "kept", { taskId: later });
    await backUpFile(path, `${path}.bak`);
    isDown = false;
    await expect.poll(() => events.length).toBe(5);
    await send(url, "lost", { taskId });
    await expect.poll(() => events.length).toBe(6);
    await running.pop()?.close({ graceMs: 0 });
    const before = seen();

    await restoreFile(`${path}.bak`, other);
    const again = await serve(other, hook);
    // The same event as before the restoration.
    await expect.poll(() => wire.length).toBe(7);
    expect(wire[6]).toEqual(wire[4]);
    await send(again, "now", { taskId });
    await expect.poll(() => events.length).toBe(7);
    expect(seen().slice(0, 6)).toEqual(before);
    const last = events.at(-1);
    expect(last).toMatchObject({ taskId, generation: 3, isRepeat: false });
    const { payload } = last?.response ?? {};
    const status = payload?.case === "statusUpdate" ? payload.value.status : undefined;
    expect(status?.message?.parts[0]?.content.value).toBe("now");
    expect(wire.at(-1)).toMatchObject({ generation: "3", restoration: expect.stringMatching(/^[\w-]{12}$/) });
    const lost = wire[5];
    expect(lost).toMatchObject({ generation: "3", restoration: undefined });
    expect(wire.at(-1)?.id).not.toBe(lost?.id);
  }, 60_000);
});
