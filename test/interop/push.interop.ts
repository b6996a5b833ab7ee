import { join } from "node:path";
import {
  DeleteTaskPushNotificationConfigRequest,
  GetTaskPushNotificationConfigRequest,
  ListTaskPushNotificationConfigsRequest,
  SendMessageRequest,
  StreamResponse,
  TaskPushNotificationConfig,
} from "@a2a-js/sdk";
import { type Client, ClientFactory, ClientFactoryOptions } from "@a2a-js/sdk/client";
import { GrpcTransportFactory } from "@a2a-js/sdk/client/grpc";
import { RequestMalformedError, TaskNotFoundError } from "@a2a-js/sdk/errors";
import type { JsonObject } from "@bufbuild/protobuf";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { root } from "../e2e/support/build.js";
import { Home, type ServerProcess } from "../e2e/support/server-process.js";
import { type Hit, Receiver } from "../push/receiver.js";
import { pythonEnvironment, pythonWith } from "./support/python.js";
import { succeed } from "./support/tool.js";

/*
 * Push notifications with the JavaScript and the Python library. Their clients create, read, list and delete
 * configurations, and send one with a message. Neither has a webhook receiver, so only the reading of notifications is
 * tested.
 *
 * Over HTTP+JSON the JavaScript client sends neither page size nor page token, so it gets all configurations at once.
 */

const receiver = await Receiver.start();
const home = new Home(
  "--push",
  "--push-allow-http",
  "--push-allow",
  "127.0.0.1",
  "--push-ports",
  String(receiver.port),
  "--push-encryption-key",
  "env:PUSH_TEST_KEY",
);
let server: ServerProcess;
let python: string;
const here = join(root, "test", "interop", "python-sdk");

beforeAll(async () => {
  process.env.PUSH_TEST_KEY = Buffer.alloc(32, 7).toString("base64");
  python = await pythonWith("python-a2a-sdk-1.3.0", join(here, "requirements.txt"));
  server = await home.start();
});

beforeEach(() => void receiver.hits.splice(0));

afterAll(async () => {
  delete process.env.PUSH_TEST_KEY;
  await home.leave();
  await receiver.stop();
});

/** The notifications to a path, as soon as one contains the agent's question. */
async function notifications(path: string): Promise<Hit[]> {
  await expect
    .poll(() => receiver.of(path).some(({ body }) => body.includes("INPUT_REQUIRED")), { timeout: 30_000 })
    .toBe(true);
  return receiver.of(path);
}

const bindings = ["JSONRPC", "HTTP+JSON", "GRPC"];

describe.each(bindings)("the JavaScript library over %s", (binding) => {
  let client: Client;

  beforeAll(async () => {
    const options = ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
      transports: [new GrpcTransportFactory()],
      preferredTransports: [binding],
    });
    client = await new ClientFactory(options).createFromUrl(server.url);
    expect((await client.getAgentCard()).capabilities?.pushNotifications).toBe(true);
  });

  async function send(path: string): Promise<string> {
    const taskPushNotificationConfig = {
      id: "sent",
      url: receiver.url(path),
      token: "js-token",
      authentication: { scheme: "Bearer", credentials: "js-credentials" },
    };
    const message = { messageId: "js", role: "ROLE_USER", parts: [{ text: "ask Which colour?" }] };
    const sent = await client.sendMessage(
      SendMessageRequest.fromJSON({ message, configuration: { taskPushNotificationConfig } }),
    );
    if ("messageId" in sent) throw new Error("The answer is a message.");
    return sent.id;
  }

  it("makes, reads, lists and deletes configurations, and never sees a secret again", async () => {
    const taskId = await send("/js");
    const key = { tenant: "", taskId, id: "mine" };
    const url = receiver.url("/js/mine");
    const given = {
      ...key,
      url,
      token: "js-token",
      authentication: { scheme: "Basic", credentials: "js-credentials" },
    };
    const shown = { taskId, id: "mine", url, token: "", authentication: { scheme: "Basic", credentials: "" } };
    expect(await client.createTaskPushNotificationConfig(TaskPushNotificationConfig.fromJSON(given))).toMatchObject(
      shown,
    );
    expect(
      await client.getTaskPushNotificationConfig(GetTaskPushNotificationConfigRequest.fromJSON(key)),
    ).toMatchObject(shown);
    const list = (more: object) =>
      client.listTaskPushNotificationConfig(ListTaskPushNotificationConfigsRequest.fromJSON({ taskId, ...more }));
    const sent = { id: "sent", token: "" };
    const page = await list({ pageSize: 1 });
    expect(page.configs).toMatchObject(binding === "HTTP+JSON" ? [shown, sent] : [shown]);
    if (binding !== "HTTP+JSON") {
      expect((await list({ pageSize: 1, pageToken: page.nextPageToken })).configs).toMatchObject([sent]);
    }
    const remove = DeleteTaskPushNotificationConfigRequest.fromJSON(key);
    for (const _ of [1, 2]) await client.deleteTaskPushNotificationConfig(remove);
    expect((await list({})).configs).toMatchObject([sent]);
    const gone = client.getTaskPushNotificationConfig(GetTaskPushNotificationConfigRequest.fromJSON(key));
    await expect(gone).rejects.toBeInstanceOf(TaskNotFoundError);
    const bad = TaskPushNotificationConfig.fromJSON({ taskId, url: "https://169.254.169.254/latest" });
    await expect(client.createTaskPushNotificationConfig(bad)).rejects.toBeInstanceOf(RequestMalformedError);
  });

  it("reads the notifications of what came with its message", async () => {
    const path = `/js/${encodeURIComponent(binding)}`;
    const taskId = await send(path);
    const hits = await notifications(path);
    expect(hits[0]?.headers).toMatchObject({
      authorization: "Bearer js-credentials",
      "x-a2a-notification-token": "js-token",
      "content-type": expect.stringContaining("application/a2a+json"),
    });
    const events = hits.map(({ body }) => StreamResponse.fromJSON(JSON.parse(body)));
    expect(events[0]?.payload).toMatchObject({ $case: "task", value: { id: taskId } });
    expect(events.at(-1)?.payload).toMatchObject({ $case: "statusUpdate", value: { taskId } });
  });
});

describe.each(bindings)("the Python library over %s", (binding) => {
  it("makes, reads, lists and deletes configurations, and reads notifications", async () => {
    const env = { ...process.env, ...pythonEnvironment };
    const path = `/py/${encodeURIComponent(binding)}`;
    const url = receiver.url(path);
    const run = (...args: string[]): Promise<string> => succeed(python, [join(here, "push.py"), ...args], { env });
    const seen = JSON.parse(await run(server.url, binding, url)) as JsonObject;
    const mine = { taskId: seen.task, id: "mine", url: `${url}/mine` };
    expect(seen).toMatchObject({
      declared: true,
      listed: { configs: [{ taskId: seen.task, url, authentication: { scheme: "Bearer" } }] },
      created: mine,
      got: mine,
      page: { configs: [{}], nextPageToken: expect.any(String) },
      deleted: [null, null],
      gone: { error: "TaskNotFoundError" },
      bad: { error: "InvalidParamsError" },
    });
    expect(JSON.stringify(seen)).not.toMatch(/py-token|py-credentials/);
    const hits = await notifications(path);
    expect(hits[0]?.headers).toMatchObject({
      authorization: "Bearer py-credentials",
      "x-a2a-notification-token": "py-token",
    });
    const read = JSON.parse(await run("read", JSON.stringify(hits.map(({ body }) => body)))) as JsonObject[];
    expect(read[0]).toMatchObject({ task: { id: seen.task } });
    expect(read.at(-1)).toMatchObject({
      statusUpdate: { taskId: seen.task, status: { state: "TASK_STATE_INPUT_REQUIRED" } },
    });
  });
});
