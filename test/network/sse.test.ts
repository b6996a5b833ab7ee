import { describe, expect, it } from "vitest";
import { heartbeat } from "../../src/http/event-stream.js";
import { http1 } from "./raw-http.js";
import { messageOf, type Served, serve } from "./serve.js";

/** Line breaks of Python's `str.splitlines()`, with which several clients read streams. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it is about.
const pythonBreak = /\r\n|[\n\r\v\f\x1c-\x1e\u0085\u2028\u2029]/;

/** Every character that some client treats as a line break, and one ordinary character. */
const text = "a\nb\rc\vd\fe\x1cf\x1dg\x1eh\u0085i\u2028j\u2029k\u00e4";

/** Parses the events of a stream with the line breaks of Python. */
function read(body: string): Record<string, unknown>[] {
  const lines = body.split(pythonBreak).filter((line) => line !== "");
  expect(lines.filter((line) => !/^(id: \d+|data: \{.*\}|:)$/.test(line))).toEqual([]);
  return lines.filter((line) => line.startsWith("data: ")).map((line) => JSON.parse(line.slice(6)));
}

const json = { "content-type": "application/json" };

async function rest({ port }: Served, params: object): Promise<Record<string, unknown>[]> {
  const answer = await http1(port)({ path: "/message:stream", headers: json, body: JSON.stringify(params) });
  return read(answer.body.toString());
}

async function rpc({ port }: Served, params: object): Promise<Record<string, unknown>[]> {
  const body = JSON.stringify({ jsonrpc: "2.0", id: text, method: "SendStreamingMessage", params });
  const answers = read((await http1(port)({ path: "/", headers: json, body })).body.toString());
  expect(answers.every(({ id }) => id === text)).toBe(true);
  return answers.map(({ result }) => result as Record<string, unknown>);
}

describe("server-sent events", () => {
  it.each([
    ["REST", rest],
    ["JSON-RPC", rpc],
  ])("keep every event of %s on one line, whatever a reader takes for a line break", async (_name, send) => {
    const events = await send(await serve(), messageOf(text, { metadata: { [text]: text } }));
    const shown = JSON.stringify(events);
    // In the message that the task begins with, its metadata, and the artifact that repeats it.
    expect(shown.split(JSON.stringify(text).slice(1, -1))).toHaveLength(5);
    expect(events.at(-1)).toMatchObject({ statusUpdate: { status: { state: "TASK_STATE_COMPLETED" } } });
  });

  it("show a sign of life before clients with a time limit of five seconds give up", () => {
    expect(heartbeat.intervalMs).toBeLessThan(5_000);
  });
});
