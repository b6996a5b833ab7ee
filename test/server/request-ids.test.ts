import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Agent, type AuditRecord, completed, createServer, type Server } from "../../src/index.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { type Binding, bindings, grpcHttp } from "../support/drivers.js";
import { furtherSpeakers, speakers, withHeaders } from "../version/across/speakers.js";
import { execute } from "../version/cases/agent.js";
import { exchange } from "../version/cases/exchange.js";
import { caseCard, openWorld } from "../version/cases/world.js";

interface Line {
  readonly message: string;
  readonly facts: Record<string, unknown>;
}

const lines: Line[] = [];
const note = (facts: object, message: string): void => void lines.push({ message, facts: { ...facts } });
const logger = { debug: note, info: note, warn: note, error: note };

const traceId = "0af7651916cd43dd8448eb211c80319c";
const traced = { traceparent: `00-${traceId}-b7ad6b7169203331-01` };

const made = /^[89ab][0-9a-f]{3}-[0-9a-f]{12}-[0-9a-z]+$/;

let server: Server;
let address: { url: string; grpcPort: number };
beforeAll(async () => {
  const agent = {
    card: { name: "Ids", description: "Answers or fails.", version: "1", skills: [] },
    async *execute({ text }) {
      if (text === "fail") throw new Error("the disk is on fire");
      yield completed("done");
    },
  } satisfies Agent;
  server = await createServer({
    agent,
    store: memoryStore(),
    port: 0,
    grpcPort: 0,
    logger,
    accessLog: true,
    interceptors: [
      (next) => (invocation) => {
        if (invocation.call.header("x-break") !== undefined) throw new Error("the database is on fire");
        return next(invocation);
      },
    ],
    limits: { maxRequestBytes: 4_000 },
  });
  address = { url: server.url, grpcPort: server.grpcPort ?? 0 };
});
afterAll(() => server.close({ graceMs: 0 }));
beforeEach(() => void lines.splice(0));

const say = (text: string): { message: object } => ({
  message: { messageId: crypto.randomUUID(), role: "ROLE_USER", parts: [{ text }] },
});

/** The lines that an id finds. */
const linesOf = (id: string): Line[] => lines.filter(({ facts }) => facts.requestId === id);

const all: readonly Binding[] = [...bindings, grpcHttp];

describe.each(all)("an answer over $name", (binding) => {
  it.each([
    [
      "an answer",
      (d: ReturnType<Binding["connect"]>, headers: object) => d.call("ListTasks", {}, { headers: { ...headers } }),
    ],
    [
      "an error",
      (d: ReturnType<Binding["connect"]>, headers: object) =>
        d.call("GetTask", { id: "none" }, { headers: { ...headers } }),
    ],
    [
      "an unexpected error",
      (d: ReturnType<Binding["connect"]>, headers: object) =>
        d.call("ListTasks", {}, { headers: { "x-break": "1", ...headers } }),
    ],
    [
      "a request that is refused before it is a call",
      (d: ReturnType<Binding["connect"]>, headers: object) =>
        d.call("SendMessage", { ...say("x".repeat(6_000)) } as never, { headers: { ...headers } }),
    ],
    [
      "a stream",
      (d: ReturnType<Binding["connect"]>, headers: object) =>
        d.stream("SendStreamingMessage", say("go") as never, { headers: { ...headers } }).rest(),
    ],
    [
      "a stream that fails",
      (d: ReturnType<Binding["connect"]>, headers: object) =>
        d.stream("SubscribeToTask", { id: "none" }, { headers: { ...headers } }).rest(),
    ],
  ] as const)("has the client's id, or a new one that the log has too: %s", async (_, ask) => {
    const driver = binding.connect(address);
    try {
      expect((await ask(driver, { "x-request-id": "mine-1" })).headers["x-request-id"]).toBe("mine-1");
      expect(linesOf("mine-1").length).toBeGreaterThan(0);
      const { headers } = await ask(driver, traced);
      const id = headers["x-request-id"] ?? "";
      expect(id).toMatch(made);
      const [line, ...others] = linesOf(id).filter(({ message }) => message === "call");
      expect([line?.facts.traceId, others.length]).toEqual([traceId, 0]);
      expect((await ask(driver, {})).headers["x-request-id"]).not.toBe(id);
    } finally {
      driver.close();
    }
  });

  it("replaces ids that do not belong in a log", async () => {
    const driver = binding.connect(address);
    try {
      for (const hostile of ["x".repeat(129), "two words", "a, b"]) {
        const { headers } = await driver.call("ListTasks", {}, { headers: { "x-request-id": hostile } });
        expect(headers["x-request-id"]).toMatch(made);
      }
      const longest = "x".repeat(128);
      const { headers } = await driver.call("ListTasks", {}, { headers: { "x-request-id": longest } });
      expect(headers["x-request-id"]).toBe(longest);
    } finally {
      driver.close();
    }
  });

  it("lets an internal error be found, in its details too", async () => {
    const driver = binding.connect(address);
    try {
      const { error, headers } = await driver.call("ListTasks", {}, { headers: { "x-break": "1", ...traced } });
      const id = headers["x-request-id"] ?? "";
      expect(JSON.stringify(error)).not.toContain("database");
      const failure = linesOf(id).find(({ message }) => message === "A call failed.");
      expect(failure?.facts).toMatchObject({ requestId: id, traceId, err: new Error("the database is on fire") });
    } finally {
      driver.close();
    }
  });
});

it("names the request in the details of an internal error over JSON-RPC and HTTP+JSON", async () => {
  const headers = { "content-type": "application/json", "a2a-version": "1.0", "x-break": "1", "x-request-id": "r-7" };
  const info = { "@type": "type.googleapis.com/google.rpc.RequestInfo", requestId: "r-7" };
  const rest = await (await fetch(`${server.url}/tasks`, { headers })).json();
  expect(rest).toMatchObject({ error: { details: expect.arrayContaining([info]) } });
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ListTasks", params: {} });
  const rpc = await (await fetch(server.url, { method: "POST", headers, body })).json();
  expect(rpc).toMatchObject({ error: { data: expect.arrayContaining([info]) } });
});

it("is in answers that are no call: cards, unknown paths, other verbs, unreadable bodies", async () => {
  const json = { "content-type": "application/json", "x-request-id": "r-8" };
  const asked = [
    fetch(`${server.url}/.well-known/agent-card.json`, { headers: json }),
    fetch(`${server.url}/no/such/path`, { headers: json }),
    fetch(`${server.url}/message:send`, { method: "PUT", headers: json }),
    fetch(server.url, { method: "POST", headers: json, body: "{" }),
    fetch(`${server.url}/message:send`, { method: "POST", headers: json, body: "{" }),
  ];
  for (const answer of await Promise.all(asked)) expect(answer.headers.get("x-request-id")).toBe("r-8");
});

it("is exposed to scripts of other origins", async () => {
  const other = await createServer({
    agent: { card: { name: "Cors", description: "-", version: "1", skills: [] }, async *execute() {} },
    store: memoryStore(),
    port: 0,
    grpcPort: false,
    cors: true,
  });
  try {
    const answer = await fetch(`${other.url}/tasks`, {
      headers: { origin: "https://app.example", "a2a-version": "1.0" },
    });
    expect(answer.headers.get("access-control-expose-headers")).toContain("X-Request-Id");
  } finally {
    await other.close({ graceMs: 0 });
  }
});

it("is in the lines of an execution that fails, with trace, task and agent", async () => {
  const headers = { "content-type": "application/json", "a2a-version": "1.0", "x-request-id": "r-9", ...traced };
  const body = JSON.stringify(say("fail"));
  const answer = await fetch(`${server.url}/message:send`, { method: "POST", headers, body });
  const { task } = (await answer.json()) as { task: { id: string } };
  const facts = { requestId: "r-9", traceId, taskId: task.id, agent: "Ids" };
  for (const message of ["an agent failed unexpectedly", "an execution ended", "call"]) {
    await expect.poll(() => linesOf("r-9").find((line) => line.message === message)?.facts).toMatchObject(facts);
  }
});

it("is in the audit log, where refused calls do not name the task", async () => {
  const records: AuditRecord[] = [];
  const audit = { write: (record: AuditRecord) => void records.push(record) };
  const agent = { card: { name: "Ids", description: "-", version: "1", skills: [] }, async *execute() {} };
  const other = await createServer({
    agent,
    store: memoryStore(),
    port: 0,
    grpcPort: false,
    audit,
    limits: { maxRequestBytes: 4_000 },
  });
  const headers = { "content-type": "application/json", "a2a-version": "1.0", "x-request-id": "r-10", ...traced };
  try {
    await fetch(`${other.url}/tasks/none`, { headers });
    await fetch(`${other.url}/message:send`, { method: "POST", headers, body: JSON.stringify(say("x".repeat(6_000))) });
    const facts = { requestId: "r-10", traceId };
    expect(records.filter(({ event }) => event !== "server.started")).toEqual([
      expect.objectContaining({ event: "access.denied", agent: "Ids", ...facts }),
      expect.objectContaining({ event: "limit.hit", method: "SendMessage", ...facts }),
    ]);
    expect(records.filter(({ taskId }) => taskId !== undefined)).toEqual([]);
  } finally {
    await other.close({ graceMs: 0 });
  }
});

describe("in every version", () => {
  let world: Awaited<ReturnType<typeof openWorld>>;
  beforeAll(async () => {
    world = await openWorld({ preview: "1.1", agent: { card: caseCard, responds: "either", execute } });
  });
  afterAll(() => world.close());

  it.each([...speakers, ...furtherSpeakers])("answers and errors have an id: $name", async (speaker) => {
    for (const request of [speaker.send({ text: "hello" }), speaker.get("none"), speaker.stream({ text: "hello" })]) {
      const own = await exchange(withHeaders(request, { "x-request-id": "mine-2" }), world);
      expect(own.headers["x-request-id"]).toBe("mine-2");
      expect((await exchange(request, world)).headers["x-request-id"]).toMatch(made);
    }
  });
});
