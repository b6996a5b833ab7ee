import { describe, expect, it } from "vitest";
import { type Task, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { CallingTurn } from "../../src/agent/delegation.js";
import { artifact, completed } from "../../src/agent/event.js";
import { defaultLimits } from "../../src/core/limits.js";
import { silentLogger } from "../../src/core/log.js";
import type { SubTaskClient } from "../../src/delegation/client.js";
import { Remotes, remoteBounds } from "../../src/delegation/remotes.js";
import { createA2A } from "../../src/index.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { testAgent, textOf } from "../../src/testing/index.js";
import { firstTurn } from "../engine/support.js";
import { setConstants } from "../support/constants.js";
import { agentOf } from "./servers.js";

const said = (task: Task): string => textOf(task.status?.message ?? task);

const quick = agentOf("Quick", async function* () {
  yield artifact({ id: "a", text: "done" });
});

describe("remoteBounds.maxCalls", () => {
  it("refuses a delegation, or a call, beyond it, until another one has ended", async () => {
    const front = agentOf("Front", async function* (turn) {
      const client = await turn.call("quick");
      const [first, second] = [turn.delegate("quick"), turn.delegate("quick")];
      await first.next();
      const refused = await second.next().catch(({ reason, metadata }) => `${reason} ${metadata.limit}`);
      const unary = await client.listTasks({}).catch(({ reason }) => reason);
      for (let step = await first.next(); !step.done; step = await first.next());
      const { text } = yield* turn.delegate("quick");
      yield completed(`${refused}, ${unary}, ${text}`);
    });
    setConstants(remoteBounds, { maxCalls: 1 });
    await using test = testAgent(front, { remoteAgents: { quick } });
    expect(said(await test.send("go"))).toBe("TOO_MANY_REQUESTS maxRemoteCalls, TOO_MANY_REQUESTS, done");
  });
});

describe("remoteBounds.maxDepth", () => {
  it.each(["delegate", "call"] as const)(
    "gives its reason to the caller of an agent that fails by it: %s",
    async (how) => {
      const front = agentOf("Front", async function* (turn) {
        if (how === "delegate") yield* turn.delegate("deep");
        else await turn.call("deep");
      });
      const deep = agentOf("Deep", async function* (turn) {
        yield* turn.delegate("quick");
      });
      setConstants(remoteBounds, { maxDepth: 1 });
      await using test = testAgent(front, { remoteAgents: { quick, deep } });
      const depth = { "parley-delegation-depth": "1" };
      const task = await test.send("go", { headers: depth });
      expect([task.status?.state, said(task)]).toEqual([
        TaskState.FAILED,
        "The work was handed from agent to agent more than 1 times.",
      ]);
    },
  );
});

describe("limits.remoteTimeoutMs", () => {
  it("ends a call that is not answered", async () => {
    const other = createA2A({
      agent: quick,
      store: memoryStore(),
      publicUrl: "http://other.localhost",
      cardGrpc: "omit",
    });
    const fetch: typeof globalThis.fetch = async (input, init) => {
      if (init?.method === "POST") {
        await new Promise((_, reject) => init.signal?.addEventListener("abort", () => reject(new Error("aborted"))));
      }
      return other.fetch(new Request(input, init));
    };
    const front = agentOf("Front", async function* (turn) {
      const client = await turn.call("other");
      const answer = await client.getTask({ id: "t" }).catch(({ reason }) => reason);
      yield completed(String(answer));
    });
    const remoteAgents = { other: { url: "http://other.localhost", fetch } };
    await using test = testAgent(front, { remoteAgents, limits: { remoteTimeoutMs: 100 } });
    const task = await test.send("go");
    expect([task.status?.state, said(task)]).toEqual([TaskState.COMPLETED, "DEADLINE_EXCEEDED"]);
    await other.close({ graceMs: 0 });
  });
});

describe("remoteBounds.maxAgents", () => {
  it("closes the oldest client of those that agents named by a URL", async () => {
    setConstants(remoteBounds, { maxAgents: 2 });
    const connected: string[] = [];
    const closed: string[] = [];
    const remotes = new Remotes({
      agents: { named: "http://named.example" },
      limits: defaultLimits,
      logger: silentLogger,
      agentName: () => undefined,
      connect: async ({ url }) => {
        connected.push(url);
        return { close: async () => void closed.push(url) } as SubTaskClient;
      },
    });
    const turn = { request: firstTurn } as CallingTurn;
    const urls = ["named", "http://a.example", "http://b.example", "http://c.example", "named", "http://c.example"];
    for (const url of urls) await remotes.for(turn, url).client();
    const all = ["http://named.example", "http://a.example", "http://b.example", "http://c.example"];
    expect(connected).toEqual(all);
    all.push("http://d.example");
    await expect.poll(() => closed).toEqual(["http://a.example"]);
    // A client in use stays open. The next oldest one is closed.
    const leave = remotes.acquire("http://b.example");
    await remotes.for(turn, "http://d.example").client();
    await expect.poll(() => closed).toEqual(["http://a.example", "http://c.example"]);
    leave();
    await remotes.close();
    expect(closed.toSorted()).toEqual(all.toSorted());
  });
});
