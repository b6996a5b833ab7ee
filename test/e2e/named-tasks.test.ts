import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { namedTaskId } from "../../src/version/v0.1/task-names.js";
import { RESUME_EXTENSION } from "../../src/wire/service-params.js";
import { Home, type ServerProcess } from "./support/server-process.js";

type Json = Record<string, unknown>;

/** A client of A2A 0.1, which names its tasks and its session. */
class OldClient {
  readonly #url: string;

  constructor({ url }: ServerProcess) {
    this.#url = url;
  }

  async call(method: string, params: Json, headers: Record<string, string> = {}): Promise<Json> {
    const response = await this.#post(method, params, headers);
    return ((await response.json()) as { result: Json }).result;
  }

  /** Reads events of a stream with their ids, until there are enough or the stream ends or breaks. */
  async events(
    method: string,
    params: Json,
    enough: number,
    headers: Record<string, string> = {},
  ): Promise<[string, Json][]> {
    const response = await this.#post(method, params, headers);
    const events: [string, Json][] = [];
    let text = "";
    const reader = (response.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream()).getReader();
    while (events.length < enough) {
      const { done, value } = await reader.read().catch(() => ({ done: true, value: undefined }));
      if (done) break;
      const frames = (text + value).split("\n\n");
      text = frames.pop() ?? "";
      for (const frame of frames) {
        const [, data] = /^data: (.*)$/m.exec(frame) ?? [];
        if (data !== undefined) events.push([/^id: (.*)$/m.exec(frame)?.[1] ?? "", JSON.parse(data).result]);
      }
    }
    await reader.cancel().catch(() => {});
    return events;
  }

  #post(method: string, params: Json, headers: Record<string, string>): Promise<Response> {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
    return fetch(this.#url, { method: "POST", headers: { "content-type": "application/json", ...headers }, body });
  }
}

const say = (id: string, text: string): Json => ({
  id,
  sessionId: `session of ${id}`,
  message: { role: "user", parts: [{ type: "text", text }] },
});

/** Requests ids of events, which clients of 0.1 do not expect. */
const resume = { "a2a-extensions": RESUME_EXTENSION };
const v1 = { "a2a-version": "1.0" };

/** The lease is long, but a single process claims an abandoned execution immediately. */
const home = new Home("--lease", "10m");
let server: ServerProcess;
let client: OldClient;
let streamed: [string, Json][];

beforeAll(async () => {
  const before = await home.start();
  const old = new OldClient(before);
  await old.call("tasks/send", say("asked", "ask Which?"));
  await old.call("tasks/send", say("told", "say hi"));
  const waits = old.events("tasks/sendSubscribe", say("waits", "wait 3000"), 2);
  await waits;
  streamed = await old.events("tasks/sendSubscribe", say("streams", "stream 20000 20 1"), 20, resume);
  await before.kill();
  server = await home.start();
  client = new OldClient(server);
}, 90_000);

afterAll(() => home.leave());

describe("tasks that clients of 0.1 have named, after kill -9", () => {
  it("have their names, sessions and version", async () => {
    for (const [id, state] of [
      ["asked", "input-required"],
      ["told", "completed"],
    ] as const) {
      const task = await client.call("tasks/get", { id });
      expect(task).toMatchObject({ id, sessionId: `session of ${id}`, status: { state } });
      expect(task).not.toHaveProperty("kind");
      expect(await client.call("GetTask", { id }, v1)).toMatchObject({ id, contextId: `session of ${id}` });
    }
    expect(await client.call("tasks/get", { id: "told" })).toMatchObject({
      status: { message: { parts: [{ text: "hi" }] } },
    });
  });

  it("are followed up under them", async () => {
    const answered = await client.call("tasks/send", say("asked", "this one"));
    expect(answered).toMatchObject({
      id: "asked",
      status: { state: "completed" },
      artifacts: [{ index: 0, name: "answer" }],
    });
  });

  it("run again where their agents want it, and are still the same task", async () => {
    const events = await client.events("tasks/resubscribe", { id: "waits" }, Number.POSITIVE_INFINITY);
    expect(events.at(-1)?.[1]).toMatchObject({ id: "waits", status: { state: "completed" }, final: true });
    const { tasks } = (await client.call("ListTasks", {}, v1)) as { tasks: { id: string }[] };
    expect(tasks.map(({ id }) => id).sort()).toEqual(["asked", "streams", "told", "waits"]);
  });

  it("stream on behind the last event that their clients had, with the same indexes, to their end", async () => {
    const last = streamed.at(-1);
    expect(last?.[1]).toMatchObject({ artifact: { index: 0 } });
    const headers = { "last-event-id": last?.[0] ?? "" };
    const rest = await client.events("tasks/resubscribe", { id: "streams" }, Number.POSITIVE_INFINITY, headers);
    const told = rest.map(([, event]) => event);
    // The crash may have come before another event was stored.
    for (const event of told.slice(0, -1)) expect(event).toMatchObject({ artifact: { index: 0, append: true } });
    expect(told.at(-1)).toMatchObject({ id: "streams", status: { state: "failed" }, final: true });
    const keptAs = namedTaskId({ tenant: "", owner: "" }, "streams");
    const [whole, kept] = [
      await client.call("tasks/get", { id: "streams" }),
      await client.call("tasks/get", { id: keptAs }),
    ];
    expect(kept).toEqual(whole);
    const texts = (whole as { artifacts: { parts: { text: string }[] }[] }).artifacts[0]?.parts ?? [];
    const seen = [...streamed.map(([, event]) => event), ...told].flatMap((event) =>
      event.artifact === undefined ? [] : (event.artifact as { parts: { text: string }[] }).parts,
    );
    expect(seen).toEqual(texts);
  });
});
