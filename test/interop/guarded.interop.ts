import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { type A2AClient, type A2AError, apiKey, type Binding, connect } from "../../src/client/index.js";
import { Receiver } from "../push/receiver.js";
import { KEY, type Started, servers } from "./support/servers.js";

/*
 * Foreign servers that require a key, serve a card to those callers and send push notifications. The table of
 * `servers.interop.ts` cannot cover them, because its servers need no key and send no notifications.
 */

const bindings = ["GRPC", "JSONRPC", "HTTP+JSON"] as const satisfies readonly Binding[];

const receiver = await Receiver.start();
afterAll(() => receiver.stop());

/** Starts a task that runs until it is canceled. */
async function begun(client: A2AClient): Promise<string> {
  const { taskId = "" } = await client.send("wait 20000", { returnImmediately: true });
  return taskId;
}

async function failure(call: Promise<unknown>): Promise<A2AError> {
  return call.then(
    () => expect.fail("The call did not fail."),
    (error: A2AError) => error,
  );
}

/** Expected results of an operation, with the key or without it. */
const operations: Readonly<Record<string, (client: A2AClient, stranger: A2AClient) => Promise<void>>> = {
  "a send with the key that the card asks for": async (client) => {
    expect((await client.send("echo hello")).text).toBe("hello");
  },
  "a stream with the key that the card asks for": async (client) => {
    let text = "";
    for await (const update of client.stream("stream 3 16 5")) if (update.kind === "artifact") text += update.text;
    expect(text).not.toBe("");
  },
  "why a send without the key is refused": async (_, stranger) => {
    expect((await failure(stranger.send("echo hello"))).reason).toBe("UNAUTHENTICATED");
  },
  "why a stream without the key is refused": async (_, stranger) => {
    const reading = (async () => {
      for await (const _ of stranger.stream("stream 3 16 5"));
    })();
    expect((await failure(reading)).reason).toBe("UNAUTHENTICATED");
  },
  "the card for callers that are known": async (client, stranger) => {
    const { name, supportedInterfaces, securitySchemes, securityRequirements } = await client.extendedCard();
    expect(name).toBe("Foreign, and more");
    expect(supportedInterfaces).toContainEqual(client.interface);
    expect(securitySchemes.key?.scheme.case).toBe("apiKeySecurityScheme");
    expect(Object.keys(securityRequirements[0]?.schemes ?? {})).toEqual(["key"]);
    expect((await failure(stranger.extendedCard())).reason).toBe("UNAUTHENTICATED");
  },
  "a push configuration: made, read, listed, deleted": async (client) => {
    const taskId = await begun(client);
    const made = await client.createTaskPushNotificationConfig({ taskId, url: receiver.url("/unused"), token: "t" });
    const { id } = made;
    expect([made.taskId, made.url, id]).toEqual([taskId, receiver.url("/unused"), expect.stringMatching(/./)]);
    expect((await client.getTaskPushNotificationConfig({ taskId, id })).url).toBe(receiver.url("/unused"));
    const { configs } = await client.listTaskPushNotificationConfigs({ taskId });
    expect(configs.map((config) => config.id)).toEqual([id]);
    await client.deleteTaskPushNotificationConfig({ taskId, id });
    expect((await client.listTaskPushNotificationConfigs({ taskId })).configs).toEqual([]);
    await client.cancelTask({ id: taskId });
  },
  "a push notification of a task's end": async (client) => {
    const path = `/${randomUUID()}`;
    const { state } = await client.send("echo hello", { pushNotification: { url: receiver.url(path) } });
    expect(state).toBe(TaskState.COMPLETED);
    await expect
      .poll(() => receiver.of(path).some(({ body }) => body.includes("TASK_STATE_COMPLETED")), { timeout: 20_000 })
      .toBe(true);
  },
};

/** Known deviations of servers, as in the table of `servers.interop.ts`. A listed cell has to fail. */
const deviations: Readonly<Record<string, string>> = {};

describe.each(Object.keys(servers))("an agent served with %s, for callers with a key", (name) => {
  let server: Started;

  beforeAll(async () => {
    server = await (servers[name] as (typeof servers)[string])({ pushPort: receiver.port });
  }, 300_000);

  afterAll(() => server?.stop());

  describe.each(bindings)("over %s", (binding) => {
    let client: A2AClient;
    let stranger: A2AClient;

    beforeAll(async () => {
      // An earlier server may have used the same port.
      const card = { cache: false } as const;
      client = await connect(server.url, { bindings: [binding], card, credentials: apiKey(KEY) });
      stranger = await connect(server.url, { bindings: [binding], card });
    });

    afterAll(async () => {
      await client?.close();
      await stranger?.close();
    });

    it.each(Object.keys(operations))("gives our client %s", async (operation) => {
      const run = (operations[operation] as (typeof operations)[string])(client, stranger);
      const known = deviations[`${name} / ${binding} / ${operation}`] ?? deviations[`${name} / * / ${operation}`];
      if (known === undefined) return run;
      await expect(run, `${name} has mended it: ${known}`).rejects.toThrow();
    });
  });
});
