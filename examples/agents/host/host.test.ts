import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { type A2AClient, connect } from "../../../src/client/index.js";
import { failed } from "../../../src/events.js";
import {
  type Agent,
  type AgentEvent,
  type Answer,
  artifact,
  completed,
  createServer,
  DELEGATION_EXTENSION,
  dataOf,
  inputRequired,
  type Server,
  TaskState,
  type Turn,
  textOf,
  working,
} from "../../../src/index.js";
import { memoryStore } from "../../../src/store/memory/index.js";
import { agent as currencyAgent } from "../currency/agent.js";
import { agent as expensesAgent } from "../expenses/agent.js";
import { type Host, start } from "./server.js";

const folder = mkdtempSync(join(tmpdir(), "host-"));
const open: { close(): Promise<unknown> }[] = [];
let count = 0;

afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const serve = (name: string, description: string, execute: (turn: Turn) => AsyncIterable<AgentEvent>) =>
  serveAgent({ card: { name, description, version: "1.0.0" }, recover: "restart", execute });

async function serveAgent(agent: Agent): Promise<Server> {
  const server: Server = await createServer({ agent, store: memoryStore(), port: 0, grpcPort: false });
  open.push({ close: () => server.close({ graceMs: 0 }) });
  return server;
}

/** Starts the host in a file of its own, and a client of it. */
async function hosting(addresses: readonly string[], path = join(folder, `${++count}`)) {
  const host: Host = await start(0, addresses, { folder: path });
  const client: A2AClient = await connect(host.url);
  open.push({ close: () => host.server.close({ graceMs: 0 }) }, client);
  return { host, client, path };
}

const said = ({ task }: Answer): string => textOf(task?.status?.message);

/** Converts currencies, and notes what it is asked. */
const currency = (heard: string[] = []) =>
  serve("Currency Agent", "Converts currencies.", async function* (turn) {
    heard.push(turn.text);
    if (!/USD/.test(turn.text)) return yield inputRequired("To which currency?");
    yield working("Looking up the exchange rates...");
    yield artifact({ name: "result", text: "20 EUR would be approximately 21.6 USD" });
  });

/** Reimburses after a form and an approval. */
const expenses = (heard: unknown[] = []) =>
  serve("Expenses", "Reimburses expenses.", async function* (turn) {
    heard.push(turn.data[0] ?? turn.text);
    const asked = turn.history.filter(({ role }) => role === 2).length;
    if (asked === 0) {
      const form = { type: "object", properties: { date: { type: "string", format: "date" } }, required: ["date"] };
      return yield inputRequired({ parts: [{ text: "Fill in the form." }, { data: { form } }] });
    }
    if (asked === 1) return yield inputRequired("Does your manager approve?");
    yield completed("Reimbursed.");
  });

describe("the host", () => {
  it("takes one request through currency, form and approval to the end", async () => {
    const [asked, filled] = [[] as string[], [] as unknown[]];
    const { client } = await hosting([(await currency(asked)).url, (await expenses(filled)).url]);
    const talk = client.conversation();
    const form = await talk.send("Reimburse my lunch for 20 EUR, I need it in USD first");
    expect([form.state, said(form)]).toEqual([TaskState.INPUT_REQUIRED, "Fill in the form."]);
    expect(dataOf(form.task?.status?.message)).toEqual([{ form: expect.objectContaining({ required: ["date"] }) }]);
    const approval = await talk.send({ parts: [{ data: { date: "2026-11-26" } }] });
    expect([approval.state, said(approval)]).toEqual([TaskState.INPUT_REQUIRED, "Does your manager approve?"]);
    const end = await talk.send("yes");
    expect(end.state).toBe(TaskState.COMPLETED);
    expect(asked).toEqual(["How much is 20 EUR in USD?"]);
    expect(filled).toEqual(["Reimburse 21.60 USD for my lunch", { date: "2026-11-26" }, "yes"]);
    const results = end.task?.artifacts ?? [];
    expect(results.map((each) => [each.name, each.metadata?.[DELEGATION_EXTENSION]])).toEqual([
      ["result", { agent: "Currency Agent", taskId: expect.any(String) }],
      ["answer", undefined],
    ]);
    expect(textOf(results[1])).toBe("Currency Agent: 20 EUR would be approximately 21.6 USD\nExpenses: Reimbursed.");
  });

  it("goes on after a restart in the middle", async () => {
    const [asked, filled] = [[] as string[], [] as unknown[]];
    const addresses = [(await currency(asked)).url, (await expenses(filled)).url];
    const first = await hosting(addresses);
    const form = await first.client.send("Reimburse my lunch for 20 EUR, I need it in USD first");
    await first.host.server.close({ graceMs: 0 });
    const { client } = await hosting(addresses, first.path);
    const taskId = form.taskId as string;
    await client.send({ parts: [{ data: { date: "2026-11-26" } }], taskId });
    expect((await client.send({ parts: "yes", taskId })).state).toBe(TaskState.COMPLETED);
    expect(asked).toHaveLength(1);
    expect(filled).toHaveLength(3);
  });

  it("brings the example agents together: currency, form and approval", async () => {
    const served = await Promise.all([serveAgent(currencyAgent), serveAgent(expensesAgent)]);
    const { client } = await hosting(served.map(({ url }) => url));
    const talk = client.conversation();
    const form = await talk.send("Reimburse my lunch for 20 EUR, I need it in USD first");
    expect([form.state, said(form)]).toEqual([TaskState.INPUT_REQUIRED, "Please fill in the details of the expense."]);
    expect(dataOf(form.task?.status?.message)).toEqual([
      expect.objectContaining({ form: expect.objectContaining({ type: "object" }) }),
    ]);
    const approval = await talk.send("It was on 2025-05-02.");
    expect([approval.state, said(approval)]).toEqual([
      TaskState.INPUT_REQUIRED,
      expect.stringMatching(/^Approve the reimbursement of \d+\.\d+ USD for lunch\?$/),
    ]);
    const end = await talk.send("yes");
    expect(end.state).toBe(TaskState.COMPLETED);
    expect(end.task?.artifacts.map(({ name }) => name)).toEqual(["conversion", "reimbursement", "answer"]);
    expect(end.text).toMatch(/Reimbursement Agent: \d+\.\d+ USD for lunch: it will be paid to you\./);
    const later = await talk.send("What is the status of my reimbursement?");
    expect(later.text).toMatch(/The reimbursement of .* for lunch is approved\./);
  });

  /** Two agents that wait for each other. */
  async function pair() {
    const begun: string[] = [];
    let meet = (): void => {};
    const both = new Promise<void>((resolve) => {
      meet = resolve;
    });
    const arrive = async (name: string) => {
      begun.push(name);
      if (begun.length === 2) meet();
      await both;
    };
    const converts = await serve("Currency Agent", "Converts currencies.", async function* (turn) {
      if (turn.history.length > 0) return yield completed(`converted ${turn.text}`);
      await arrive("currency");
      yield inputRequired("Which rate?");
    });
    const draws = await serve("Image Agent", "Draws images.", async function* (turn) {
      if (turn.history.length > 0) {
        const bytes = new TextEncoder().encode(`<svg>${turn.text}</svg>`);
        yield artifact({ name: "cat.svg", file: { bytes, name: "cat.svg", mediaType: "image/svg+xml" } });
        return yield completed("drawn");
      }
      await arrive("image");
      yield inputRequired("Which color?");
    });
    return [converts.url, draws.url];
  }

  it("asks several agents at once, and brings each answer to the agent that asked", async () => {
    const { client } = await hosting(await pair());
    const talk = client.conversation();
    let answer = await talk.send("Convert 10 EUR to USD and draw a cat");
    const replies: Record<string, string> = { "Which rate?": "the latest", "Which color?": "red" };
    const questions: string[] = [];
    while (answer.state === TaskState.INPUT_REQUIRED) {
      questions.push(answer.text);
      answer = await talk.send(replies[answer.text] ?? "");
    }
    expect(questions.toSorted()).toEqual(["Which color?", "Which rate?"]);
    const [drawn] = answer.task?.artifacts ?? [];
    expect([drawn?.name, drawn?.parts[0]?.file?.bytes?.toString()]).toEqual([
      "cat.svg",
      new TextEncoder().encode("<svg>red</svg>").toString(),
    ]);
    expect(answer.text).toContain("Currency Agent: converted the latest\nImage Agent: drawn");
  });

  it("finds an agent that is added while it runs, and remembers the conversation with it", async () => {
    const contexts = new Set<string>();
    const movies = await serve("Movies", "Knows movies.", async function* (turn) {
      contexts.add(turn.contextId);
      yield completed(`about ${turn.text}`);
    });
    const { host, client } = await hosting([]);
    const talk = client.conversation();
    expect((await talk.send("A movie, please")).text).toBe("I can ask these agents: none so far.");
    expect(await host.add(movies.url)).toBe("Movies");
    expect((await talk.send("A movie, please")).text).toBe("Movies: about A movie, please");
    expect((await talk.send("Another one")).text).toBe("Movies: about Another one");
    expect(contexts.size).toBe(1);
  });

  it("tells what agents could not do, and whom it cannot reach", async () => {
    const draws = await serve("Image Agent", "Draws images.", async function* () {
      yield failed("No colors left.");
    });
    const gone = await currency();
    const { client } = await hosting([gone.url, draws.url]);
    await gone.close({ graceMs: 0 });
    const answer = await client.send("Draw a cat");
    expect([answer.state, answer.text]).toEqual([TaskState.COMPLETED, "Image Agent: No colors left."]);
    expect((await client.send("Hello")).text).toBe("I can ask these agents: Currency Agent, Image Agent.");
  });

  it("says which addresses have no agent, and why", async () => {
    const gone = await currency();
    await gone.close({ graceMs: 0 });
    const { host } = await hosting([(await expenses()).url, gone.url]);
    expect(host.server.remoteAgents.names).toEqual(["Expenses"]);
    expect(host.missing).toEqual([expect.stringMatching(`^${gone.url}: .+`)]);
  });

  it("cancels all the way down", async () => {
    const stopped: string[] = [];
    const draws = await serve("Image Agent", "Draws images.", async function* ({ signal }) {
      yield working("drawing");
      await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
      stopped.push("image");
    });
    const inner = await hosting([draws.url]);
    const outer = await hosting([]);
    outer.host.server.remoteAgents.add("Image department", inner.host.url);
    const { taskId = "" } = await outer.client.send("Draw a cat for the image department", { returnImmediately: true });
    const said = async () => textOf((await outer.client.getTask({ id: taskId })).status?.message);
    await expect.poll(said, { timeout: 20_000 }).toBe("drawing");
    const task = await outer.client.cancelTask({ id: taskId });
    expect([task.status?.state, stopped]).toEqual([TaskState.CANCELED, ["image"]]);
    const { tasks } = await inner.client.listTasks({});
    expect(tasks.map(({ status }) => status?.state)).toEqual([TaskState.CANCELED]);
  });
});
