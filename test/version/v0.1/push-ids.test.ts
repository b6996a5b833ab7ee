import { expect, it } from "vitest";
import type { StreamResponse } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { completed, inputRequired } from "../../../src/agent/event.js";
import { newSecret } from "../../push/signature/keys.js";
import { listen, webhook } from "../../push-receiver/world.js";
import { Spoken, say, sayNow, v1 } from "./server.js";

const patience = { timeout: 20_000, interval: 20 };
const secret = newSecret();

/** The agent's text in a notification, of 0.1 or of 1.0. */
function saidIn({ payload }: StreamResponse): unknown {
  const status = payload.case === "task" || payload.case === "statusUpdate" ? payload.value.status : undefined;
  return status?.message?.parts[0]?.content.value;
}

async function world(options: object = {}) {
  const ids: unknown[] = [];
  const { receiver, events } = await webhook({ secrets: [secret] });
  const handle = receiver.handler((event) => void events.push(event));
  const url = await listen((request, response) => {
    ids.push(request.headers["webhook-id"]);
    void handle(request, response);
  });
  const agent = {
    async *execute({ text }: { text: string }) {
      yield text === "ask" ? inputRequired("What?") : completed(text);
    },
  };
  const push = {
    allow: ["127.0.0.1"],
    allowHttp: true,
    ports: [Number(new URL(url).port)],
    signing: { webhookSecrets: [secret], secretPer: "server" as const },
  };
  return { spoken: new Spoken(agent, { push, ...options }), url, events, ids };
}

it("two callers who name their tasks alike, and one receiver of both: each notification is one of its own", async () => {
  const { spoken, url, events, ids } = await world();
  for (const owner of ["ada", "bob"]) {
    const headers = { "x-owner": owner };
    await spoken.result("tasks/send", say("mine", owner, { pushNotification: { url: `${url}/01` } }), headers);
  }
  const texts = () => events.flatMap(({ response, taskId }) => [`${taskId}: ${saidIn(response)}`]);
  await expect.poll(texts, patience).toEqual(expect.arrayContaining(["mine: ada", "mine: bob"]));
  expect(new Set(ids).size).toBe(ids.length);
});

it("a name that is given to another task is told from what it was before, in 1.0 too", async () => {
  const { spoken, url, events } = await world({ maxReopens: 1 });
  for (const text of ["first", "second"]) {
    await spoken.result("tasks/send", say("mine", "ask", { sessionId: "s" }));
    const config = { taskId: "mine", id: "hook", url };
    await spoken.result("CreateTaskPushNotificationConfig", config, v1);
    await spoken.result("SendMessage", sayNow("mine", text), v1);
    await expect.poll(() => events.map(({ response }) => saidIn(response)), patience).toContain(text);
  }
});
