import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { agent, Served, said, said1 } from "../served.js";

let served: Served;
beforeAll(() => {
  served = new Served({ push: { allowHttp: true, allow: ["127.0.0.1"], ports: [4000] } });
});
afterAll(() => served.close());

/** A task of 0.3 that waits for its client. */
async function waiting(): Promise<string> {
  const { json } = await served.rpc("message/send", said("I'd like to book a flight."));
  expect(json.result.status.state).toBe("input-required");
  return json.result.id;
}

const results = ({ events }: { events: { result: Record<string, unknown> }[] }) => events.map(({ result }) => result);

describe("a stream of 0.3", () => {
  it("ends where the task waits for its client, and that event says so", async () => {
    const stream = await served.rpc("message/stream", said("I'd like to book a flight."));
    expect(results(stream).at(-1)).toMatchObject({
      kind: "status-update",
      status: { state: "input-required" },
      final: true,
    });
    // A second stream of the task does not end with the state that it starts in.
    const taskId = results(stream)[0]?.id;
    const next = await served.rpc("message/stream", said("JFK to LHR", { taskId, messageId: "m2" }));
    expect(results(next)[0]).toMatchObject({ kind: "task", id: taskId });
    expect(results(next).at(-1)).toMatchObject({ status: { state: "completed" }, final: true });
    expect(results(next).filter(({ final }) => final === true)).toHaveLength(1);
  });

  it("gives whoever subscribes to a task that is over, or waits, the task and a last status, and ends", async () => {
    const { json } = await served.rpc("message/send", said("hello"));
    const tasks = [json.result.id, await waiting()];
    for (const id of tasks) {
      const stream = await served.rpc("tasks/resubscribe", { id });
      expect(stream.type).toBe("text/event-stream");
      expect(results(stream)).toMatchObject([
        { kind: "task", id },
        { kind: "status-update", taskId: id, contextId: expect.any(String), final: true },
      ]);
      for (const verb of ["GET", "POST"]) {
        const body = verb === "POST" ? { body: {} } : {};
        const rest = await served.send({ path: `/v1/tasks/${id}:subscribe`, verb, ...body });
        expect(rest.events).toMatchObject([{ task: { id } }, { statusUpdate: { taskId: id, final: true } }]);
      }
    }
    // 1.0 keeps its behaviour: clients cannot subscribe to the first task.
    const native = await served.rpc("SubscribeToTask", { id: tasks[0] });
    expect(native.json.error.code).toBe(-32004);
  });

  it("has the place of the task on the status that is added, so that its reader goes on exactly there", async () => {
    const id = await waiting();
    const { ids } = await served.rpc("tasks/resubscribe", { id });
    const [place = ""] = ids;
    expect([place, ids]).toEqual([expect.stringMatching(/^\d+$/), [place, place]]);
    await served.rpc("message/send", said("JFK to LHR", { taskId: id, messageId: "m2" }));
    const rest = await served.rpc("tasks/resubscribe", { id }, { "last-event-id": place });
    const numbers = rest.ids.slice(1).map(Number);
    expect(numbers).toEqual(numbers.map((_, at) => Number(place) + 1 + at));
    expect(results(rest).at(-1)).toMatchObject({ status: { state: "completed" }, final: true });
  });

  it("begins behind the event that a client names, and still ends with the status in which the task waits", async () => {
    const first = await served.rpc("message/stream", said("I'd like to book a flight."));
    const id = results(first)[0]?.id;
    const rest = await served.rpc("tasks/resubscribe", { id }, { "last-event-id": first.ids[0] ?? "" });
    const missed = results(first).slice(1);
    expect(results(rest).slice(1)).toEqual(missed);
    expect(rest.ids.at(-1)).toBe(first.ids.at(-1));
  });

  it("is one event where it fails before it begins, for clients that read nothing but events", async () => {
    const lost = await served.rpc("tasks/resubscribe", { id: "nobody" });
    expect([lost.status, lost.type]).toEqual([200, "text/event-stream"]);
    expect(lost.events).toMatchObject([{ jsonrpc: "2.0", id: 1, error: { code: -32001 } }]);
    const begun = await served.rpc("message/stream", said("hello", { taskId: "nobody" }));
    expect([begun.type, begun.json.error.code]).toEqual(["application/json", -32001]);
    const rest = await served.send({ path: "/v1/tasks/nobody:subscribe" });
    expect([rest.status, rest.json.code]).toEqual([404, -32001]);
  });

  it("is what a client may leave before its next event", async () => {
    const { json } = await served.rpc("message/send", { ...said("hold: on"), configuration: { blocking: false } });
    const leave = new AbortController();
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tasks/resubscribe", params: { id: json.result.id } });
    const headers = { "content-type": "application/json" };
    const request = new Request("http://localhost/", { method: "POST", body, headers, signal: leave.signal });
    const reader = (await served.components.fetch(request)).body?.getReader();
    await reader?.read();
    await reader?.cancel();
    // The client has left the stream, and the task can still be canceled.
    expect((await served.rpc("tasks/cancel", { id: json.result.id })).json.result.status.state).toBe("canceled");
  });
});

describe("push configurations of 0.3", () => {
  const url = "http://127.0.0.1:4000/hook";
  const set = (taskId: string, config: object) =>
    served.rpc("tasks/pushNotificationConfig/set", { taskId, pushNotificationConfig: { url, ...config } });
  const get = (id: string, more: object = {}) => served.rpc("tasks/pushNotificationConfig/get", { id, ...more });

  it("without an id are one for each task, which is replaced, and found", async () => {
    const task = await waiting();
    expect((await get(task)).json.error.code).toBe(-32001);
    await set(task, { id: "other", url: `${url}/other` });
    expect((await get(task)).json.result.pushNotificationConfig).toMatchObject({ id: "other" });
    for (const token of ["first", "second"]) {
      const { json } = await set(task, { token });
      expect(json.result.pushNotificationConfig).toMatchObject({ id: expect.any(String), token });
    }
    expect((await get(task)).json.result.pushNotificationConfig.url).toBe(url);
    const list = await served.rpc("tasks/pushNotificationConfig/list", { id: task });
    expect(list.json.result).toHaveLength(2);
    expect((await get(task, { pushNotificationConfigId: "other" })).json.result.pushNotificationConfig.id).toBe(
      "other",
    );
  });

  it("come with a message as they are set: without an id there is one for the task", async () => {
    const configuration = { blocking: false, pushNotificationConfig: { url: `${url}/sent` } };
    const list = async (id: unknown) => {
      const { json } = await served.rpc("tasks/pushNotificationConfig/list", { id });
      return json.result.map((each: { pushNotificationConfig: object }) => each.pushNotificationConfig);
    };
    const params = { ...said("I'd like to book a flight."), configuration };
    const { json } = await served.rpc("message/send", params);
    const stream = await served.rpc("message/stream", params);
    const rest = await served.send({
      path: "/v1/message:send",
      body: {
        message: { messageId: "m", role: "ROLE_USER", content: [{ text: "I'd like to book a flight." }] },
        configuration: { pushNotification: { url: `${url}/sent` } },
      },
    });
    const ids = [json.result.id, results(stream)[0]?.id, rest.json.task.id];
    for (const id of ids) expect(await list(id)).toEqual([{ id, url: `${url}/sent` }]);
    const [id] = ids;
    await set(id, { url: `${url}/later` });
    expect(await list(id)).toEqual([{ id, url: `${url}/later` }]);
    const next = said("JFK to LHR", { taskId: id, messageId: "m2" });
    await served.rpc("message/send", { ...next, configuration });
    expect(await list(id)).toEqual([{ id, url: `${url}/sent` }]);
  });

  it("are set over HTTP+JSON in both of its forms, for the task in the path, and deleted without an answer", async () => {
    const task = await waiting();
    const path = `/v1/tasks/${task}/pushNotificationConfigs`;
    const name = (id: string) => `tasks/${task}/pushNotificationConfigs/${id}`;
    const whole = { parent: `tasks/${task}`, configId: "a", config: { pushNotificationConfig: { url } } };
    expect((await served.send({ path, body: whole })).json.name).toBe(name("a"));
    const bare = { name: name("b"), pushNotificationConfig: { url } };
    // The first contract of 0.3 has this path.
    expect((await served.send({ path: path.replace("/tasks/", "/task/"), body: bare })).json.name).toBe(name("b"));
    const wrong = await served.send({ path, body: { ...whole, parent: "tasks/another" } });
    expect([wrong.status, wrong.json.code]).toEqual([400, -32602]);
    const deleted = await served.send({ path: `${path}/a`, verb: "DELETE" });
    expect([deleted.status, deleted.text]).toEqual([204, ""]);
    expect((await served.send({ path })).json.configs.map((each: { name: string }) => each.name)).toEqual([name("b")]);
  });
});

describe("errors of 0.3", () => {
  it("are bare objects over HTTP+JSON, with statuses that its servers had", async () => {
    const { json } = await served.rpc("message/send", said("hello"));
    const canceled = await served.send({ path: `/v1/tasks/${json.result.id}:cancel`, body: {} });
    expect([canceled.status, canceled.json]).toEqual([409, expect.objectContaining({ code: -32002 })]);
    expect(Object.keys(canceled.json).sort()).toEqual(["code", "data", "error", "message"]);
    const malformed = await served.send({ path: "/v1/message:send", body: "{" });
    expect([malformed.status, malformed.json.code]).toEqual([400, -32700]);
    const card = await served.send({ path: "/v1/card" });
    expect([card.status, card.json.code]).toEqual([404, -32007]);
    expect((await served.rpc("agent/getAuthenticatedExtendedCard")).json.error.code).toBe(-32007);
    expect((await served.send({ path: "/agent/authenticatedExtendedCard" })).status).toBe(404);
  });

  it("say in its words what it has no code for", async () => {
    const needs = { uri: "urn:example:needed", required: true };
    const card = { name: "Strict", description: "Needs it.", version: "1.0.0", capabilities: { extensions: [needs] } };
    const strict = new Served({ agent: { ...agent, card } });
    try {
      expect((await strict.rpc("message/send", said("hello"))).json.error.code).toBe(-32004);
      expect((await strict.rpc("SendMessage", said1("hello"))).json.error.code).toBe(-32008);
      const headers = { "x-a2a-extensions": needs.uri };
      const heard = await strict.rpc("message/send", said("hello"), headers);
      expect(heard.json.result.kind).toBe("task");
      expect(heard.header("x-a2a-extensions")).toBe(needs.uri);
    } finally {
      await strict.close();
    }
  });
});

describe("a script of another origin", () => {
  it("may send and read the header of extensions that 0.3 has, where 0.3 is spoken", async () => {
    for (const versions of [["1.0"], ["1.0", "0.3"]]) {
      const open = new Served({ cors: true, versions });
      try {
        const origin = { origin: "https://app.example" };
        const asked = { ...origin, "access-control-request-method": "POST" };
        const preflight = await open.send({ verb: "OPTIONS", headers: asked });
        const answer = await open.rpc("message/send", said("hello"), origin);
        const both = [preflight.header("access-control-allow-headers"), answer.header("access-control-expose-headers")];
        expect(both.map((names) => names?.includes("x-a2a-extensions"))).toEqual(Array(2).fill(versions.length === 2));
      } finally {
        await open.close();
      }
    }
  });
});

describe("a task of 0.3 over HTTP+JSON", () => {
  it("is answered in the dialect of its message, whole or as a stream", async () => {
    const proto = { message: { messageId: "m", role: "ROLE_USER", content: [{ text: "hello" }] } };
    const state = { proto: "TASK_STATE_COMPLETED", schema: "completed" };
    for (const [dialect, body] of Object.entries({ proto, schema: said("hello") }) as ["proto" | "schema", object][]) {
      const sent = await served.send({ path: "/v1/message:send", body });
      expect(sent.json.task.status.state).toBe(state[dialect]);
      expect(sent.json.task.kind).toBe(dialect === "schema" ? "task" : undefined);
      const stream = await served.send({ path: "/v1/message:stream", body });
      expect(stream.events.at(-1).statusUpdate).toMatchObject({ status: { state: state[dialect] }, final: true });
    }
  });

  it("has as much of its history as is asked for, in either spelling", async () => {
    const { json } = await served.rpc("message/send", said("hello"));
    for (const query of ["historyLength=0", "history_length=0"]) {
      const task = await served.send({ path: `/v1/tasks/${json.result.id}?${query}` });
      expect(task.json.history).toBeUndefined();
    }
    expect((await served.send({ path: `/v1/tasks/${json.result.id}` })).json.history).toHaveLength(1);
  });
});

describe("an unknown method without an id", () => {
  const ask = (headers: Record<string, string>) =>
    served.send({ body: { jsonrpc: "2.0", method: "tasks/paint", params: {} }, headers });

  it.each([{}, { "a2a-version": "" }, { "a2a-version": "0.3" }, { "a2a-version": "0.2" }, { "a2a-version": "0.1" }])(
    "is answered, with the id null, to %o",
    async (headers) => {
      const { status, json } = await ask(headers);
      expect([status, json]).toMatchObject([200, { jsonrpc: "2.0", id: null, error: { code: -32601 } }]);
    },
  );

  it("is a notification in 1.0, and in a batch", async () => {
    const native = await ask({ "a2a-version": "1.0" });
    expect([native.status, native.text]).toEqual([204, ""]);
    const batch = await served.send({ body: [{ jsonrpc: "2.0", method: "tasks/paint" }] });
    expect([batch.status, batch.text]).toEqual([204, ""]);
    const alone = new Served({ versions: ["1.0"] });
    const unnamed = await alone.send({ body: { jsonrpc: "2.0", method: "tasks/paint" } });
    expect([unnamed.status, unnamed.text]).toEqual([204, ""]);
    await alone.close();
  });
});

it.each([
  ["1.0", "GetTask"],
  ["0.3", "tasks/get"],
  ["0.2", "tasks/get"],
  ["0.1", "tasks/get"],
])("an unknown task is not found in the words of every version: %s", async (version, method) => {
  const { json } = await served.rpc(method, { id: "nobody" }, { "a2a-version": version });
  expect(json.error).toMatchObject({ code: -32001, message: expect.stringContaining("Task not found") });
});
