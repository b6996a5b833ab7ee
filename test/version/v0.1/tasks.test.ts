import { describe, expect, it } from "vitest";
import type { Agent, Turn } from "../../../src/agent/agent.js";
import {
  artifact,
  authRequired,
  completed,
  inputRequired,
  rejected,
  reply,
  working,
} from "../../../src/agent/event.js";
import { memoryStore } from "../../../src/store/memory/index.js";
import { textOf } from "../../../src/task/plain.js";
import { Spoken, saidIn03, say, sayNow, v1, v03 } from "./server.js";

/** Obeys its message. */
const agent: Omit<Agent, "card"> = {
  responds: "either",
  async *execute(turn) {
    if (turn.text.startsWith("direct")) return yield reply("hi");
    yield working();
    if (turn.text === "ask") return yield inputRequired("Which?");
    if (turn.text === "log in") return yield authRequired("Log in.");
    if (turn.text === "reject") return yield rejected();
    if (turn.text === "slow") await new Promise((resolve) => setTimeout(resolve, 200));
    for (const name of turn.text === "three" ? ["a", "b", "c"] : ["out"]) {
      yield artifact({ name, text: `${name} of ${turn.text}` });
    }
    yield completed();
  },
};

const names = (task: Record<string, unknown>): unknown[] =>
  ((task.artifacts ?? []) as { name: string; index: number }[]).map(({ name, index }) => `${index} ${name}`);

const stateOf = (task: Record<string, unknown>): unknown => (task.status as { state: unknown }).state;

describe("a task that began in 0.1", () => {
  it("is read, followed up, canceled and subscribed to in 1.0 and 0.3, under the name of its client", async () => {
    const spoken = new Spoken(agent);
    const begun = await spoken.result("tasks/send", say("mine", "ask", { sessionId: "s" }));
    expect(begun).toMatchObject({ id: "mine", sessionId: "s", status: { state: "input-required" } });
    expect(await spoken.result("GetTask", { id: "mine" }, v1)).toMatchObject({ id: "mine", contextId: "s" });
    expect(await spoken.result("tasks/get", { id: "mine" }, v03)).toMatchObject({ kind: "task", contextId: "s" });
    const listed = (await spoken.result("ListTasks", {}, v1)).tasks as { id: string }[];
    expect(listed.map(({ id }) => id)).toEqual(["mine"]);
    const { events } = await spoken.call("SendStreamingMessage", sayNow("mine", "ask"), v1);
    expect(events[0]).toMatchObject({ task: { id: "mine", contextId: "s" } });
    expect(events.at(-1)).toMatchObject({ statusUpdate: { taskId: "mine" } });
    const answered = await spoken.result("message/send", saidIn03("mine", "three"), v03);
    expect(answered).toMatchObject({ kind: "task", id: "mine", status: { state: "completed" } });
    expect(names(await spoken.result("tasks/get", { id: "mine" }))).toEqual(["0 a", "1 b", "2 c"]);
    await spoken.result("tasks/send", say("other", "ask"));
    expect(stateOf(await spoken.result("CancelTask", { id: "other" }, v1))).toBe("TASK_STATE_CANCELED");
    await spoken.result("tasks/send", say("third", "ask"));
    expect(stateOf(await spoken.result("tasks/cancel", { id: "third" }, v03))).toBe("canceled");
  });

  it("answers calls that name no version as 0.1 does, where another task is answered as 0.3 does", async () => {
    const spoken = new Spoken(agent);
    await spoken.result("tasks/send", say("mine", "ask"));
    const made = await spoken.result("SendMessage", sayNow("", "ask"), v1);
    const { id } = made.task as { id: string };
    const shapes = async (method: string): Promise<unknown[]> => [
      "kind" in (await spoken.result(method, { id: "mine" })),
      "kind" in (await spoken.result(method, { id })),
    ];
    expect(await shapes("tasks/get")).toEqual([false, true]);
    const told = async (taskId: string): Promise<unknown> =>
      (await spoken.call("tasks/resubscribe", { id: taskId })).events.map((event) => event.kind);
    expect(await told("mine")).toEqual([undefined]);
    expect(await told(id)).toEqual(["task", "status-update"]);
    expect(await shapes("tasks/cancel")).toEqual([false, true]);
  });

  it("shows messages where they are asked for, and not as a matter of course", async () => {
    const spoken = new Spoken(agent);
    expect(await spoken.result("tasks/send", say("mine", "ask"))).not.toHaveProperty("history");
    expect(await spoken.result("tasks/get", { id: "mine" })).not.toHaveProperty("history");
    expect(await spoken.result("tasks/get", { id: "mine", historyLength: null })).not.toHaveProperty("history");
    const { history } = await spoken.result("tasks/get", { id: "mine", historyLength: 5 });
    expect(history).toEqual([{ role: "user", parts: [{ type: "text", text: "ask" }] }]);
    expect(await spoken.result("tasks/cancel", { id: "mine" })).not.toHaveProperty("history");
  });
});

describe("a task of another version", () => {
  it("is read, followed up and canceled in 0.1", async () => {
    const spoken = new Spoken(agent);
    const { id, contextId } = (await spoken.result("SendMessage", sayNow("", "ask"), v1)).task as Record<
      string,
      string
    >;
    const v01 = { "a2a-version": "0.1" };
    expect(await spoken.result("tasks/get", { id }, v01)).toMatchObject({ id, sessionId: contextId });
    const answered = await spoken.result("tasks/send", say(String(id), "go"));
    expect(answered).toMatchObject({ id, sessionId: contextId, status: { state: "completed" } });
    expect(names(answered)).toEqual(["0 out"]);
    const other = (await spoken.result("message/send", saidIn03("", "ask"))).id;
    expect(stateOf(await spoken.result("tasks/cancel", { id: other }, v01))).toBe("canceled");
  });
});

describe("names of tasks", () => {
  it("are their caller's own: whatever others have called theirs, and by whatever version, is not there", async () => {
    const spoken = new Spoken(agent);
    const bob = { "x-owner": "bob" };
    await spoken.result("tasks/send", say("same", "ask", { sessionId: "hers" }));
    const made = (await spoken.result("SendMessage", sayNow("", "ask"), v1)).task as { id: string };
    const unknown = [
      ["tasks/get", { id: "" }],
      ["tasks/cancel", { id: "" }],
      ["tasks/resubscribe", { id: "" }],
      ["tasks/pushNotification/get", { id: "" }],
      ["tasks/pushNotification/set", { id: "", pushNotificationConfig: { url: "http://127.0.0.1:9/" } }],
    ] as const;
    for (const [method, params] of unknown) {
      const answers = [];
      for (const id of ["same", made.id, "free"]) {
        const { code, message } = (await spoken.call(method, { ...params, id }, bob)).json.error as {
          [name: string]: unknown;
        };
        answers.push({ code, message });
      }
      expect(answers).toEqual(Array(3).fill({ code: -32001, message: expect.any(String) }));
    }
    // Bob may use the same ids, and no answer tells him that they were taken.
    for (const id of ["same", made.id, "free"]) {
      expect(await spoken.result("tasks/send", say(id, "ask", { sessionId: "his" }), bob)).toMatchObject({ id });
      for (const version of [{}, { "a2a-version": "0.1" }]) {
        const found = await spoken.result("tasks/get", { id }, { ...bob, ...version });
        expect(found).toMatchObject({ id, sessionId: "his" });
      }
    }
    const his = (await spoken.result("ListTasks", {}, { ...v1, ...bob })).tasks as { id: string }[];
    expect(his.map(({ id }) => id).sort()).toEqual(["free", "same", made.id].sort());
    expect(await spoken.result("tasks/get", { id: "same" })).toMatchObject({ sessionId: "hers" });
  });

  it.each([
    ["nothing", ""],
    ["nothing to see", "  "],
    ["a line break", "a\nb"],
    ["half a character", "a\ud800"],
    ["more than ids have", "a".repeat(257)],
    ["a number", 7],
    ["an object", {}],
  ])("are refused: %s", async (_what, id) => {
    expect(await new Spoken(agent).code("tasks/send", say(id as string, "x"))).toBe(-32602);
  });

  it("may be any other text", async () => {
    const spoken = new Spoken(agent);
    for (const id of ["task 1", "a/b?c#d", "任务", "..", "0"]) {
      expect(await spoken.result("tasks/send", say(id, "go"))).toMatchObject({ id });
      expect(await spoken.result("tasks/get", { id })).toMatchObject({ id, status: { state: "completed" } });
    }
  });

  it("are not for clients of 1.0 and 0.3 to choose", async () => {
    const spoken = new Spoken(agent);
    expect(await spoken.code("SendMessage", sayNow("mine", "go"), v1)).toBe(-32001);
    expect(await spoken.code("message/send", saidIn03("mine", "go"))).toBe(-32001);
  });

  it("make one task of a send that comes twice under its key, which has no id of its own", async () => {
    const spoken = new Spoken(agent);
    const key = { "idempotency-key": "k" };
    const [one, two] = [
      await spoken.result("tasks/send", say("mine", "ask"), key),
      await spoken.result("tasks/send", say("mine", "ask"), key),
    ];
    expect(two).toEqual(one);
    const { history } = await spoken.result("tasks/get", { id: "mine", historyLength: 9 });
    expect(history).toHaveLength(1);
    expect(await spoken.code("tasks/send", say("mine", "another"), key)).toBe(-32000);
  });
});

describe("what 0.1 has no word for", () => {
  it("is a failure with its reason, a question, and a task that is over", async () => {
    const spoken = new Spoken(agent);
    const status = async (text: string): Promise<unknown> =>
      (await spoken.result("tasks/send", say(`t ${text}`, text))).status;
    expect(await status("reject")).toMatchObject({
      state: "failed",
      message: { role: "agent", parts: [{ type: "text", text: "rejected" }] },
    });
    expect(await status("log in")).toMatchObject({ state: "input-required" });
    expect(await status("direct")).toMatchObject({ state: "completed", message: { parts: [{ text: "hi" }] } });
    expect(await spoken.result("tasks/get", { id: "t direct" })).toMatchObject({ status: { state: "completed" } });
    expect(await spoken.result("tasks/send", say("t direct", "direct"))).toMatchObject({ id: "t direct" });
  });

  it.each(["answers directly", "makes a task", "decides"] as const)(
    "is a conversation that goes on under one id by default, with all that was said: an agent that %s",
    async (how) => {
      const says = (turn: Turn): string => [...turn.history, turn.message].map((said) => textOf(said)).join(" ");
      const responds = ({ "answers directly": "message", "makes a task": "task", decides: "either" } as const)[how];
      const spoken = new Spoken({
        responds,
        async *execute(turn) {
          yield how === "makes a task" ? completed(says(turn)) : reply(says(turn));
        },
      });
      await spoken.result("tasks/send", say("mine", "a", { sessionId: "s" }));
      await spoken.result("tasks/send", say("mine", "b"));
      const { events } = await spoken.call("tasks/sendSubscribe", say("mine", "c"));
      expect(events.at(-1)).toMatchObject({ id: "mine", status: { state: "completed" }, final: true });
      const task = await spoken.result("tasks/get", { id: "mine", historyLength: 10 });
      const history = task.history as { role: string; parts: { text: string }[] }[];
      expect(history.map(({ role, parts }) => `${role} ${parts[0]?.text}`)).toEqual([
        ...["user a", "agent a", "user b", "agent a a b", "user c"],
      ]);
      expect(task).toMatchObject({ sessionId: "s", status: { message: { parts: [{ text: "a a b a a b c" }] } } });
      expect((await spoken.result("tasks/get", { id: "mine", historyLength: 2 })).history).toEqual(history.slice(-2));
    },
  );

  it("is refused behind its end, where the server wants that", async () => {
    const spoken = new Spoken(agent, { maxReopens: 0 });
    await spoken.result("tasks/send", say("mine", "go"));
    expect(await spoken.code("tasks/send", say("mine", "go"))).toBe(-32004);
  });

  it("has the media types that its client accepts", async () => {
    const spoken = new Spoken({
      async *execute(turn) {
        yield completed(JSON.stringify(turn.acceptedOutputModes));
      },
    });
    const modes = [["text", "image/png"], [], null, undefined] as const;
    for (const [i, acceptedOutputModes] of modes.entries()) {
      const said = await spoken.result("tasks/send", say(`t${i}`, "go", { acceptedOutputModes }));
      expect(said).toMatchObject({ status: { message: { parts: [{ text: JSON.stringify(modes[i] ?? []) }] } } });
    }
    expect(await spoken.code("tasks/send", say("t", "go", { acceptedOutputModes: "text" }))).toBe(-32602);
  });

  it("is a task that goes on behind its end, where the server lets it", async () => {
    const spoken = new Spoken(agent, { maxReopens: 1 });
    const first = await spoken.result("tasks/send", say("mine", "go", { sessionId: "s" }));
    const again = await spoken.result("tasks/send", say("mine", "three"));
    expect([stateOf(first), names(first)]).toEqual(["completed", ["0 out"]]);
    expect(again).toMatchObject({ id: "mine", sessionId: "s", status: { state: "completed" } });
    expect(names(again)).toEqual(["0 a", "1 b", "2 c"]);
    expect(await spoken.result("tasks/get", { id: "mine" })).toEqual(again);
    expect(await spoken.code("tasks/send", say("mine", "go"))).toBe(-32004);
  });

  it("is a task at work where the time to wait is over", async () => {
    const spoken = new Spoken(agent, { limits: { maxBlockingMs: 20 } });
    expect(stateOf(await spoken.result("tasks/send", say("mine", "slow")))).toBe("working");
    await expect.poll(async () => stateOf(await spoken.result("tasks/get", { id: "mine" }))).toBe("completed");
  });
});

describe("push configurations of 0.1", () => {
  const set = (url: string | null, id = "mine") => ({
    id,
    pushNotificationConfig: url === null ? null : { url, token: "t" },
  });

  it("are one for each task: what is set replaces it, and null removes it", async () => {
    const spoken = new Spoken(agent);
    await spoken.result("tasks/send", say("mine", "ask"));
    const none = { id: "mine", pushNotificationConfig: null };
    expect(await spoken.result("tasks/pushNotification/get", { id: "mine" })).toEqual(none);
    for (const path of ["a", "b"]) {
      const url = `http://127.0.0.1:9/${path}`;
      expect(await spoken.result("tasks/pushNotification/set", set(url))).toEqual(set(url));
    }
    const { configs } = await spoken.result("ListTaskPushNotificationConfigs", { taskId: "mine" }, v1);
    expect(configs).toMatchObject([{ taskId: "mine", url: "http://127.0.0.1:9/b" }]);
    expect(await spoken.result("tasks/pushNotification/get", { id: "mine" })).toMatchObject({
      pushNotificationConfig: { url: "http://127.0.0.1:9/b" },
    });
    expect(await spoken.result("tasks/pushNotification/set", set(null))).toEqual(none);
    expect(await spoken.result("tasks/pushNotification/get", { id: "mine" })).toEqual(none);
  });

  it("may be those of another version, and are refused without a URL", async () => {
    const spoken = new Spoken(agent);
    await spoken.result("tasks/send", say("mine", "ask"));
    const config = { taskId: "mine", id: "c", url: "http://127.0.0.1:9/new" };
    await spoken.result("CreateTaskPushNotificationConfig", config, v1);
    expect(await spoken.result("tasks/pushNotification/get", { id: "mine" })).toEqual({
      id: "mine",
      pushNotificationConfig: { url: config.url },
    });
    expect(await spoken.code("tasks/pushNotification/set", { id: "mine" })).toBe(-32602);
    expect(await spoken.code("tasks/pushNotification/set", { id: "mine", pushNotificationConfig: {} })).toBe(-32602);
  });
});

describe("a server that does not speak 0.1", () => {
  it("has no such method, and answers its tasks as those of others", async () => {
    const store = memoryStore();
    const before = new Spoken(agent, { store });
    await before.result("tasks/send", say("mine", "ask"));
    const after = new Spoken(agent, { store, versions: ["1.0", "0.3"] });
    expect(await after.code("tasks/send", say("mine", "x"))).toBe(-32601);
    expect(await after.result("GetTask", { id: "mine" }, v1)).toMatchObject({ id: "mine" });
    expect(await after.result("tasks/get", { id: "mine" })).toMatchObject({ kind: "task", id: "mine" });
    const { events } = await after.call("tasks/resubscribe", { id: "mine" });
    expect(events.map(({ kind }) => kind)).toEqual(["task", "status-update"]);
    expect(await after.result("tasks/cancel", { id: "mine" })).toMatchObject({
      kind: "task",
      contextId: expect.any(String),
    });
  });
});
