import { generateKeyPairSync } from "node:crypto";
import { createServer as createHttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { StreamResponseSchema, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { createPushReceiver, type PushEvent, type PushReceiver } from "../../src/push-receiver/index.js";
import type { Server } from "../../src/server/create-server.js";
import type { Update } from "../../src/task/answer.js";
import { atEnd, connect, serve } from "./world.js";

interface Reporting {
  readonly server: Server;
  /** URL of the webhook. */
  readonly url: string;
}

/**
 * A server that notifies a webhook on this machine, signed or with only a token. The webhook passes the events to
 * `heard`.
 */
async function reporting(isSigned: boolean, heard: (event: PushEvent) => unknown): Promise<Reporting> {
  let handler: ReturnType<PushReceiver["handler"]> = () => expect.fail("too early");
  const http = createHttpServer((request, response) => handler(request, response));
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  atEnd(() => http.close());
  const { port } = http.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}/`;
  const key = generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" });
  const signing = isSigned ? { signing: { keys: [{ kid: "k", key }] } } : {};
  const server = await serve({ push: { allowHttp: true, allow: ["127.0.0.1"], ports: [port], ...signing } });
  const trust = isSigned ? { servers: [server.url], audience: url } : { acceptUnsigned: true };
  handler = createPushReceiver({ tokens: ["a token"], ...trust }).handler(heard);
  return { server, url };
}

describe("client.notified()", () => {
  it.each([true, false])("gives what a stream would, of what a webhook hears (signed: %s)", async (isSigned) => {
    const updates: Update[] = [];
    let take: (event: PushEvent) => Promise<Update | undefined> = () => expect.fail("too early");
    const { server, url } = await reporting(isSigned, async (event) => {
      const update = await take(event);
      if (update !== undefined) updates.push(update);
    });
    const client = await connect(server.url);
    const tasks = client.notified();
    take = (event) => tasks.take(event);
    const { task } = await client.send("count", { pushNotification: { url, token: "a token" } });
    await expect.poll(() => updates.at(-1)?.task?.status?.state, { timeout: 20_000 }).toBe(TaskState.COMPLETED);
    expect(updates.map(({ text }) => text).join("")).toBe("one two three");
    expect(updates[0]?.kind).toBe("task");
    const last = updates.at(-1)?.task;
    expect(last?.artifacts).toEqual(task?.artifacts);
    expect(last?.id).toBe(task?.id);
  });

  it("reads a task of which notifications are missing, and takes none twice", async () => {
    const events: PushEvent[] = [];
    const { server, url } = await reporting(true, (event) => void events.push(event));
    const client = await connect(server.url, { limits: { maxNotifiedTasks: 1 } });
    const { task } = await client.send("count", { pushNotification: { url, token: "a token" } });
    const isOver = ({ response: { payload } }: PushEvent): boolean =>
      payload.case === "statusUpdate" && payload.value.status?.state === TaskState.COMPLETED;
    await expect.poll(() => events.some(isOver), { timeout: 20_000 }).toBe(true);
    const [first, second, , fourth] = events as [PushEvent, PushEvent, PushEvent, PushEvent];
    const tasks = client.notified();
    expect(await tasks.take(first)).toMatchObject({ kind: "task", generation: 1 });
    expect(await tasks.take(first)).toBeUndefined();
    expect(await tasks.take(second)).toMatchObject({ kind: "status" });
    const read = await tasks.take(fourth);
    expect(read).toMatchObject({ kind: "snapshot", text: "one two three" });
    expect(read?.task?.artifacts).toEqual(task?.artifacts);
    for (const event of events.slice(2))
      await tasks.take(event).then((update) => expect(update?.text ?? "").toBe(""), expect.fail);
    const elsewhere = client.notified();
    expect(await elsewhere.take(fourth)).toMatchObject({ kind: "task", text: "one two three" });
  });

  it("fails where a task cannot be read, so that the sender tries again", async () => {
    const client = await connect((await serve()).url);
    const tasks = client.notified();
    const response = create(StreamResponseSchema, {
      payload: { case: "statusUpdate", value: { taskId: "gone", status: { state: TaskState.WORKING } } },
    });
    const event = { response, taskId: "gone", generation: 7 };
    await expect(tasks.take(event)).rejects.toMatchObject({ reason: "TASK_NOT_FOUND" });
    await expect(tasks.take(event)).rejects.toMatchObject({ reason: "TASK_NOT_FOUND" });
  });
});
