import { afterEach, describe, expect, it } from "vitest";
import type { Agent, Turn } from "../../src/agent/agent.js";
import { type AgentEvent, artifact, inputRequired } from "../../src/agent/event.js";
import { MAX_NAME, storedName } from "../../src/agent/stored-name.js";
import { dataOf } from "../../src/task/plain.js";
import { type AgentTest, testAgent, textOf } from "../../src/testing/index.js";

let served: AgentTest | undefined;
afterEach(() => served?.close());

const agentOf = (name: string, execute: (turn: Turn) => AsyncIterable<AgentEvent>): Agent => ({
  card: { name, description: "An agent under test.", version: "1.0.0" },
  recover: "restart",
  execute,
});

/** Ids that models give to tool calls, and similar ones. */
const ids = ["call:1", "call-1", "call 1", "call/1", "toolu_1", "\ud800", "\ud801", "x".repeat(500), "x".repeat(501)];

describe("storedName()", () => {
  it("keeps names of allowed characters, and gives all others different ones of allowed length", () => {
    expect(storedName("call_1.a-b", 64, /^[\w.-]*$/)).toBe("call_1.a-b");
    expect(storedName("für Rom / 1", 128)).toBe("für Rom / 1");
    const stored = ids.map((id) => storedName(id, 64, /^[\w.-]*$/));
    expect(new Set(stored).size).toBe(ids.length);
    for (const name of stored) expect(name).toMatch(/^[\w.~-]{1,64}$/);
    // This name equals the stored form of another name.
    expect(storedName(stored[0] ?? "", 64)).not.toBe(stored[0]);
    expect(stored[0]).toMatch(/^call-1~[\w-]{43}$/);
  });
});

describe("names by ids of tool calls", () => {
  it("name delegations, whose sub-tasks continue after a question", async () => {
    const other = agentOf("Other", async function* ({ text, history }) {
      if (history.length === 0) yield inputRequired(`${text}?`);
      else yield artifact({ text: `${textOf(history[0] ?? { parts: [] })}=${text}` });
    });
    const front = agentOf("Front", async function* (turn) {
      const texts: string[] = [];
      for (const [n, name] of ids.entries()) {
        texts.push((yield* turn.delegate("other", `Question ${n}`, { name })).text);
      }
      yield artifact({ id: "all", data: texts });
    });
    served = testAgent(front, { remoteAgents: { other } });
    let task = await served.send("go");
    for (const n of ids.keys()) {
      expect(textOf(task.status?.message ?? task)).toBe(`Question ${n}?`);
      if (n === 1) await served.crash();
      task = await served.send(`${n}`, { task });
    }
    expect(dataOf(task)).toEqual([ids.map((_, n) => `Question ${n}=${n}`)]);
  });

  it.each(["", "x".repeat(MAX_NAME + 1)])("name no delegation if they are empty or too long", async (name) => {
    const front = agentOf("Front", async function* (turn) {
      expect(() => turn.delegate("other", "a", { name })).toThrow("has 1 to 65536 characters");
      yield artifact({ text: "checked" });
    });
    served = testAgent(front, { remoteAgents: { other: front } });
    expect(textOf(await served.send("go"))).toBe("checked");
  });

  it("name forms and steps, whose results come back in later turns", async () => {
    const form = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] } as const;
    let runs = 0;
    const agent = agentOf("Front", async function* (turn) {
      const results: number[][] = [];
      for (const name of ids) {
        const run = await turn.step(name, () => ++runs, { per: "task" });
        const { n } = yield* turn.form(form, { text: "How many?", name });
        results.push([run, n]);
      }
      yield artifact({ data: results });
    });
    served = testAgent(agent);
    let task = await served.send("go");
    for (const n of ids.keys()) {
      if (n === 1) await served.crash();
      task = await served.send([{ data: { n } }], { task });
    }
    expect(dataOf(task)).toEqual([ids.map((_, n) => [n + 1, n])]);
    expect(runs).toBe(ids.length);
  });
});
