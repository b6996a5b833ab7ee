import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Agent } from "../../../src/agent/agent.js";
import { AgentError } from "../../../src/agent/errors.js";
import { artifact, authRequired, completed, inputRequired, rejected, working } from "../../../src/agent/event.js";
import type { Server } from "../../../src/server/create-server.js";
import { type FirstReceiver, serveFirst } from "./first-clients.js";
import { FirstPythonClient, javaScriptHost, pythonHost } from "./first-hosts.js";

type Json = Record<string, unknown>;

/** Has every kind of event and part that an agent may send. */
const agent: Agent = {
  card: {
    name: "First",
    description: "Talks to the first hosts.",
    version: "1.0.0",
    provider: { organization: "Parley", url: "https://example.org" },
    documentationUrl: "https://example.org/docs",
    capabilities: { streaming: true, pushNotifications: true },
    defaultInputModes: ["text/plain", "image/png"],
    defaultOutputModes: ["text/plain", "image/png"],
    skills: [{ id: "all", name: "All", description: "Everything.", tags: ["all"], outputModes: ["image/png"] }],
  },
  async *execute(turn) {
    yield working([{ text: "Looking." }, { data: { at: 1 } }]);
    if (turn.text === "ask") return yield inputRequired("What?");
    if (turn.text === "log in") return yield authRequired();
    if (turn.text === "no") return yield rejected();
    if (turn.text === "fail") throw new AgentError("It is broken.");
    if (turn.text === "wait") {
      await new Promise((_, reject) => turn.signal.addEventListener("abort", reject, { once: true }));
    }
    const files = turn.message.parts.filter(({ content }) => content.case === "raw");
    yield artifact({ name: "said", text: `${turn.text}, files: ${files.length}, ` });
    yield artifact({ name: "said", text: `modes: ${turn.acceptedOutputModes}`, append: true, lastChunk: true });
    yield artifact({ name: "values", parts: [{ data: { a: 1 } }, { data: "text" }, { data: null }] });
    yield artifact({
      name: "files",
      parts: [
        { raw: Uint8Array.of(1), filename: "a.png", mediaType: "image/png" },
        { url: "https://example.org/b.png", mediaType: "image/png" },
      ],
    });
    yield completed("Done.");
  },
};

let server: Server;
let receiver: FirstReceiver;
let client: FirstPythonClient;
beforeAll(async () => {
  ({ server, receiver } = await serveFirst(agent));
  client = await FirstPythonClient.resolve(server.url);
});
afterAll(async () => {
  await server.close();
  await receiver.close();
});

const stateOf = (task: Json): unknown => (task.status as Json).state;
const textOf = (artifacts: unknown): string =>
  ((artifacts as { parts: { text?: string }[] }[])[0]?.parts ?? []).map(({ text }) => text).join("");

describe("the first Python host", () => {
  it("reads the card, and every event and task by its types", async () => {
    expect(client.card).toMatchObject({ name: "First", url: expect.stringContaining(server.url) });
    const [all] = await pythonHost(client, ["everything"]);
    expect(all?.events.map((event) => (event.status ? stateOf(event) : (event.artifact as Json).name))).toEqual([
      ...["submitted", "working", "said", "said", "values", "files", "completed"],
    ]);
    expect(textOf(all?.task.artifacts)).toBe("everything, files: 0, modes: text");
  });

  it("goes on with a task that needs input, and begins another one of the session otherwise", async () => {
    const attach = { name: "a.png", bytes: Uint8Array.of(1, 2) };
    const printed = await pythonHost(client, ["ask", { prompt: "this", attach }, "more"], { session: "s" });
    const [asked, answered, more] = printed;
    expect(printed.map(({ task }) => stateOf(task))).toEqual(["input-required", "completed", "completed"]);
    expect([answered?.id === asked?.id, more?.id === asked?.id]).toEqual([true, false]);
    expect(printed.map(({ task }) => task.sessionId)).toEqual(["s", "s", "s"]);
    expect(textOf(answered?.task.artifacts)).toContain("this, files: 1");
    const { history } = await client.getTask({ id: asked?.id as string, historyLength: 10 });
    expect((history as Json[]).map(({ role }) => role)).toContain("agent");
  });

  it.each([
    ["log in", "input-required"],
    ["no", "failed"],
    ["fail", "failed"],
  ])("knows the state of a task that 0.1 has no word for: %s", async (prompt, state) => {
    const [printed] = await pythonHost(client, [prompt]);
    expect(stateOf(printed?.task as Json)).toBe(state);
  });

  it("cancels, and reads errors that come with the status 200", async () => {
    const events = client.sendTaskStreaming({
      id: "held",
      message: { role: "user", parts: [{ type: "text", text: "wait" }] },
    });
    await events.next();
    expect(stateOf(await client.cancelTask({ id: "held" }))).toBe("canceled");
    for await (const event of events) expect(event).toHaveProperty("status");
    await expect(client.cancelTask({ id: "held" })).rejects.toMatchObject({ code: -32002 });
    await expect(client.getTask({ id: "unheard of" })).rejects.toMatchObject({ code: -32001 });
  });

  it("is notified of its tasks, and sets and gets the callback", async () => {
    const [printed] = await pythonHost(client, ["ask"], { receiver: receiver.url });
    const id = printed?.id as string;
    const mine = () => receiver.judged.filter(({ task }) => task.id === id);
    await expect.poll(() => mine().map(({ task }) => stateOf(task))).toContain("input-required");
    expect(mine().map(({ fault }) => fault)).toEqual(mine().map(() => undefined));
    const pushNotificationConfig = { url: `${receiver.url}?second`, token: null, authentication: null };
    await client.setTaskCallback({ id, pushNotificationConfig });
    expect(await client.getTaskCallback({ id })).toMatchObject({
      pushNotificationConfig: { url: `${receiver.url}?second` },
    });
  });
});

describe("the first JavaScript host", () => {
  it("sends every line to one task, which goes on after its end, until a new one is begun", async () => {
    const answers = await javaScriptHost(server.url, ["one", "ask", "two", "/new", "three"]);
    expect(answers.map((events) => stateOf(events.at(-1) as Json))).toEqual([
      ...["completed", "input-required", "completed", "completed"],
    ]);
    const ids = answers.map((events) => events[0]?.id);
    expect([ids[0] === ids[1], ids[1] === ids[2], ids[2] === ids[3]]).toEqual([true, true, false]);
  });
});
