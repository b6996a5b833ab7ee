import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Agent } from "../../../src/agent/agent.js";
import { artifact, completed, inputRequired, working } from "../../../src/agent/event.js";
import type { Server } from "../../../src/server/create-server.js";
import { FirstJavaScriptClient, type FirstReceiver, pythonParams, serveFirst } from "./first-clients.js";

type Json = Record<string, unknown>;

const agent: Agent = {
  card: {
    name: "First",
    description: "Talks to the first clients.",
    version: "1.0.0",
    capabilities: { streaming: true, pushNotifications: true },
  },
  async *execute(turn) {
    if (turn.text === "ask") return yield inputRequired("What?");
    yield working("Looking it up.");
    if (turn.text === "hold") {
      await new Promise((resolve) => turn.signal.addEventListener("abort", resolve, { once: true }));
      return;
    }
    yield artifact({ name: "heard", text: [...turn.history, turn.message].length.toString() });
    yield completed(turn.text);
  },
};

let server: Server;
let receiver: FirstReceiver;
let client: FirstJavaScriptClient;
const url = (): string => `http://127.0.0.1:${server.port}`;

beforeAll(async () => {
  ({ server, receiver } = await serveFirst(agent));
  client = new FirstJavaScriptClient(`${url()}/`);
});
afterAll(async () => {
  await server.close();
  await receiver.close();
});

const said = (id: string, text: string): Json => ({ id, message: { role: "user", parts: [{ type: "text", text }] } });

const statesOf = (events: readonly Json[]): unknown[] =>
  events.map(({ status, artifact: piece, final }) =>
    status === undefined ? (piece as Json).name : `${(status as Json).state}${final === true ? " final" : ""}`,
  );

async function all(events: AsyncIterable<Json>): Promise<Json[]> {
  const read: Json[] = [];
  for await (const event of events) read.push(event);
  return read;
}

describe("the first JavaScript client of 0.1", () => {
  it("sees every event of a stream, large ones too, and holds a conversation under one id", async () => {
    const whole = ["submitted", "working", "heard", "completed final"];
    const large = "x".repeat(300_000);
    for (const [i, text] of ["one", large, "three"].entries()) {
      const events = await all(client.stream("tasks/sendSubscribe", said("talk", text)));
      expect(statesOf(events)).toEqual(whole);
      expect(events[2]).toMatchObject({ artifact: { parts: [{ text: `${1 + 3 * i}` }] } });
    }
    const task = await client.call("tasks/get", { id: "talk", historyLength: 100 });
    const texts = (task.history as { parts: { text: string }[] }[]).map(({ parts }) => parts[0]?.text);
    expect(texts.filter((text) => ["one", large, "three"].includes(text ?? ""))).toHaveLength(5);
  });

  it("sends, is asked, answers, subscribes again and cancels", async () => {
    expect(await client.call("tasks/send", said("asked", "ask"))).toMatchObject({
      status: { state: "input-required" },
    });
    const done = await client.call("tasks/send", said("asked", "done"));
    expect(done).toMatchObject({ id: "asked", status: { state: "completed" } });
    const again = await all(client.stream("tasks/resubscribe", { id: "asked" }));
    expect(statesOf(again)).toEqual(["heard", "completed final"]);
    const held = client.stream("tasks/sendSubscribe", said("held", "hold"));
    const [first, second] = [await held.next(), await held.next()].map(({ value }) => value as Json);
    expect(statesOf([first, second] as Json[])).toEqual(["submitted", "working"]);
    const watched = all(client.stream("tasks/resubscribe", { id: "held" }));
    const canceled = await client.call("tasks/cancel", { id: "held" });
    expect(canceled).toMatchObject({ status: { state: "canceled" } });
    expect(statesOf(await watched).at(-1)).toBe("canceled final");
    expect(statesOf(await all(held))).toEqual(["canceled final"]);
    await expect(client.call("tasks/cancel", { id: "held" })).rejects.toMatchObject({ code: -32002 });
    await expect(client.call("tasks/get", { id: "none" })).rejects.toMatchObject({ code: -32001 });
    await expect(all(client.stream("tasks/resubscribe", { id: "none" }))).rejects.toMatchObject({ code: -32001 });
  });
});

describe("the first Python client of 0.1", () => {
  const configs: Readonly<Record<string, Json | null>> = {
    "its own scheme": { schemes: ["bearer"], credentials: null },
    "the scheme of the documents": { schemes: ["jwt"] },
    "no scheme": { schemes: [] },
    "no authentication": null,
    "several schemes": { schemes: ["Basic", "bearer"] },
    "a scheme that nobody has": { schemes: ["Unheard-Of"] },
  };

  it.each(Object.entries(configs))(
    "verifies its notifications by the keys of the agent: %s",
    async (name, authentication) => {
      const id = `push ${name}`;
      const pushNotification = { url: receiver.url, token: null, authentication };
      const task = await client.call("tasks/send", pythonParams(id, "go", { pushNotification }));
      expect(task).toMatchObject({ id, sessionId: "session", status: { state: "completed" } });
      const mine = () => receiver.judged.filter((each) => each.task.id === id);
      await expect.poll(() => mine().map((each) => (each.task.status as Json).state)).toContain("completed");
      expect(mine().map(({ fault }) => fault)).toEqual(mine().map(() => undefined));
      expect(await client.call("tasks/pushNotification/get", { id, metadata: null })).toMatchObject({
        pushNotificationConfig: { url: receiver.url },
      });
    },
  );

  it("gets the credentials that it names, as they are", async () => {
    const authentication = { schemes: ["bearer"], credentials: "secret" };
    const pushNotification = { url: receiver.url, token: "t", authentication };
    await client.call("tasks/send", pythonParams("own", "go", { pushNotification }));
    const mine = () => receiver.judged.filter((each) => each.task.id === "own");
    await expect.poll(() => mine().length).toBeGreaterThan(0);
    expect(mine()[0]?.authorization).toBe("bearer secret");
  });
});
