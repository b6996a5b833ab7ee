import { randomUUID } from "node:crypto";
import type { JsonValue } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { sqliteStore } from "../../../src/store/sqlite/index.js";
import { temporaryFile } from "../../store/sqlite/files.js";
import { cover } from "../../support/cover.js";
import { pairs } from "../../support/covering.js";
import type { Pattern, Request } from "../cases/case.js";
import { exchange } from "../cases/exchange.js";
import { Webhook } from "../cases/webhook.js";
import { openWorld, type World } from "../cases/world.js";
import { begin, say } from "./begin.js";
import { seenEvents } from "./seen.js";
import { furtherSpeakers, isAsNative, type Speaker, speakers } from "./speakers.js";

/* Notifications have the version that asked for them, over every binding and for tasks of every version. */

const everySpeaker = [...speakers, ...furtherSpeakers];

let world: Awaited<ReturnType<typeof openWorld>>;
beforeAll(async () => {
  world = await openWorld({ preview: "1.1" });
});
afterAll(() => world.close());

type Json = Record<string, JsonValue>;

interface Received {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Json;
}

/** The last notification of a canceled task, as a version has it. */
function expected(speaker: Speaker, taskId: string): { readonly headers: object; readonly body: object } {
  const token = { "x-a2a-notification-token": "the-token" };
  if (isAsNative(speaker)) {
    const status = { state: "TASK_STATE_CANCELED", timestamp: expect.any(String) };
    const statusUpdate = { taskId, contextId: expect.any(String), status: expect.objectContaining(status) };
    return {
      headers: { ...token, "content-type": "application/a2a+json", "a2a-version": "1.0" },
      body: { statusUpdate },
    };
  }
  const task = { id: taskId, status: expect.objectContaining({ state: "canceled" }) };
  const own =
    speaker.version === "0.1" ? { sessionId: expect.any(String) } : { kind: "task", contextId: expect.any(String) };
  return { headers: { ...token, "content-type": "application/json" }, body: { ...task, ...own } };
}

async function cancelAndRead(
  speaker: Speaker,
  taskId: string,
  hook: string,
  { webhook, ...at }: World = world,
): Promise<void> {
  const [native] = speakers as [Speaker];
  await exchange(native.cancel(taskId), at);
  const isLast = ({ body }: { body?: unknown }): boolean => /cancell?ed/i.test(JSON.stringify(body ?? ""));
  const all = (await webhook.eventually(hook, isLast)) as readonly Received[];
  const last = all.find(isLast);
  expect(last, JSON.stringify(all)).toMatchObject(expected(speaker, taskId));
  const { headers, body } = last as Received;
  if (isAsNative(speaker)) {
    expect(Object.keys(body)).toEqual(["statusUpdate"]);
    return;
  }
  expect(headers).not.toHaveProperty("a2a-version");
  if (speaker.version === "0.1") for (const name of ["kind", "contextId"]) expect(body).not.toHaveProperty(name);
}

/** A message that brings its webhook along, as a version says it. */
function withWebhook(request: Request, { version, binding, name }: Speaker, config: Json): Request {
  const body = request.body as Json;
  const { id: _, ...withoutId } = config;
  const added: Json = isAsNative({ version } as Speaker)
    ? { configuration: { taskPushNotificationConfig: config } }
    : version === "0.1"
      ? { pushNotification: withoutId }
      : binding === "JSONRPC" || name.includes("schema")
        ? { configuration: { pushNotificationConfig: config } }
        : { configuration: { pushNotification: config } };
  const all =
    binding === "JSONRPC" ? { ...body, params: { ...(body.params as Json), ...added } } : { ...body, ...added };
  return { ...request, body: all as Pattern };
}

const couples = cover(
  everySpeaker.flatMap((speaker) => speakers.map((creator) => ({ speaker, creator }))),
  ({ speaker, creator }) => [
    speaker.name,
    creator.name,
    ...pairs(speaker.version, speaker.binding, creator.version, creator.binding),
  ],
);

describe.each(everySpeaker.map((speaker) => [speaker.name, speaker] as const))("a webhook of %s", (_name, speaker) => {
  const config = (hook: string) => ({ id: "a-hook", url: world.webhook.urlOf(hook), token: "the-token" });

  it("that comes with a message gets what its version sends", async () => {
    const hook = `/${randomUUID()}`;
    const request = withWebhook(speaker.stream({ text: "hold: on" }), speaker, config(hook));
    const [first] = seenEvents(await exchange(request, world, { leaveAfter: 1 }));
    await cancelAndRead(speaker, first?.taskId ?? "", hook);
  });

  const creators = couples.filter((each) => each.speaker === speaker).map(({ creator }) => creator);
  it.each(creators.map((creator) => [creator.name, creator] as const))(
    "that is set for a task of %s does, too",
    async (_creator, creator) => {
      const hook = `/${randomUUID()}`;
      const taskId = await begin(world, creator, { text: "hold: on" });
      const set = await exchange(speaker.setPush(taskId, config(hook)), world);
      expect(["OK", 200], JSON.stringify(set)).toContain(set.status);
      await cancelAndRead(speaker, taskId, hook);
    },
  );
});

it("a webhook gets what its version sends when the server no longer speaks that version, after a restart", async () => {
  const webhook = await Webhook.open();
  onTestFinished(() => webhook.close());
  const path = temporaryFile();
  const push = { allowHttp: true, ports: [webhook.port], allow: ["127.0.0.1"] };
  const before = await openWorld({ push, store: sqliteStore(path) });
  const tasks: [Speaker, string, string][] = [];
  for (const speaker of speakers) {
    const hook = `/${randomUUID()}`;
    const taskId = await say(before, speaker, { text: "buy me a new phone" });
    const config = { id: "a-hook", url: webhook.urlOf(hook), token: "the-token" };
    await exchange(speaker.setPush(taskId, config), before);
    tasks.push([speaker, taskId, hook]);
  }
  await before.close();
  const after = await openWorld({ push, store: sqliteStore(path), versions: ["1.0"] });
  onTestFinished(() => after.close());
  for (const [speaker, taskId, hook] of tasks) await cancelAndRead(speaker, taskId, hook, { ...after, webhook });
});
