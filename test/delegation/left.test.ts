import { describe, expect, it } from "vitest";
import { type Task, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { artifact, completed, inputRequired } from "../../src/agent/event.js";
import { remoteBounds } from "../../src/delegation/remotes.js";
import { testAgent } from "../../src/testing/index.js";
import { setConstants } from "../support/constants.js";
import { agentOf, Servers } from "./servers.js";

/** An agent that works until it is stopped. Records the cause of each stop. */
function endless() {
  const stopped: string[] = [];
  const agent = agentOf("Endless", async function* ({ signal }) {
    yield artifact({ id: "a", text: "begun" });
    await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
    stopped.push((signal.reason as { cause: string }).cause);
  });
  return { agent, stopped };
}

const kindOf = (event: unknown): unknown => (event as { kind?: unknown } | undefined)?.kind;
const said = ({ status }: Task): string => status?.message?.parts.map(({ content }) => content.value).join("") ?? "";

describe("what a turn leaves open when it ends", () => {
  it("is ended with it: a delegation that is looked at no more, and one that is waited for", async () => {
    const { agent, stopped } = endless();
    const front = agentOf("Front", async function* (turn) {
      const [one, other] = [turn.delegate("endless"), turn.delegate("endless")];
      await one.next();
      while (kindOf((await other.next()).value) !== "artifact");
      void other.next();
      yield completed("enough");
    });
    setConstants(remoteBounds, { maxCalls: 2 });
    await using test = testAgent(front, { remoteAgents: { endless: agent } });
    for (const text of ["go", "go"]) {
      expect((await test.send(text)).status?.state).toBe(TaskState.COMPLETED);
      await expect.poll(() => stopped.splice(0)).toEqual(["canceled", "canceled"]);
    }
  });

  it("is ended with it: streams of a client, whose tasks go on", async () => {
    const { agent, stopped } = endless();
    const front = agentOf("Front", async function* (turn) {
      const client = await turn.call("endless");
      const [one, other] = [client.stream("go"), client.stream("go")].map((it) => it[Symbol.asyncIterator]());
      await one?.next();
      while (kindOf((await other?.next())?.value) !== "artifact");
      void other?.next();
      yield completed("enough");
    });
    setConstants(remoteBounds, { maxCalls: 2 });
    await using test = testAgent(front, { remoteAgents: { endless: agent } });
    expect(said(await test.send("go"))).toBe("enough");
    // The turn's streams end a moment after its last event.
    await expect.poll(async () => said(await test.send("go"))).toBe("enough");
    expect(stopped).toEqual([]);
  });

  it("is told to any number of delegations without a warning of Node.js", async () => {
    const warnings: string[] = [];
    const note = ({ message }: Error): void => void warnings.push(message);
    process.on("warning", note);
    const quick = agentOf("Quick", async function* () {
      yield completed("done");
    });
    const front = agentOf("Front", async function* (turn) {
      const all = Array.from({ length: 12 }, async () => {
        for await (const _ of turn.delegate("quick"));
      });
      await Promise.all(all);
      yield completed("all");
    });
    await using test = testAgent(front, { remoteAgents: { quick } });
    expect(said(await test.send("go"))).toBe("all");
    process.off("warning", note);
    expect(warnings).toEqual([]);
  });

  it("begins nothing new at the question of another agent", async () => {
    const asks = agentOf("Asks", async function* () {
      yield inputRequired("Which?");
    });
    let begun = 0;
    const other = agentOf("Other", async function* () {
      begun++;
      yield completed("done");
    });
    let isLeft = false;
    const front = agentOf("Front", async function* (turn) {
      const later = turn.delegate("other");
      try {
        yield* turn.delegate("asks");
      } finally {
        await later.next().catch(() => {});
        isLeft = true;
      }
    });
    await using test = testAgent(front, { remoteAgents: { asks, other } });
    expect((await test.send("go")).status?.state).toBe(TaskState.INPUT_REQUIRED);
    await expect.poll(() => isLeft).toBe(true);
    expect(begun).toBe(0);
  });

  it("ends with it also while a delegation asks an agent that is away what it was told before", async () => {
    const servers = new Servers();
    const other = await servers.serve(
      agentOf("Other", async function* () {
        yield completed("done");
      }),
    );
    const front = agentOf(
      "Front",
      async function* (turn) {
        const work = turn.delegate("other", "work");
        if (turn.history.length === 0) {
          yield* work;
          return yield inputRequired("Which?");
        }
        await servers.close();
        work.next().catch(() => {});
        yield completed("enough");
      },
      { recover: "restart" },
    );
    const limits = { cancelGraceMs: 20_000 };
    await using test = testAgent(front, { remoteAgents: { other: other.url }, limits });
    const task = await test.send("go");
    expect(task.status?.state).toBe(TaskState.INPUT_REQUIRED);
    const since = performance.now();
    expect(said(await test.send("this", { task }))).toBe("enough");
    expect(performance.now() - since).toBeLessThan(5_000);
  }, 30_000);

  it("begins nothing new", async () => {
    const { agent } = endless();
    const late: unknown[] = [];
    const front = agentOf("Front", async function* (turn) {
      if (turn.text === "keep") {
        late.push(turn);
        yield completed("kept");
        return;
      }
      const [kept] = late.splice(0) as (typeof turn)[];
      const client = await kept?.call("endless");
      const streamed = await client
        ?.stream("go")
        [Symbol.asyncIterator]()
        .next()
        .catch(({ reason }) => reason);
      let delegated: unknown;
      try {
        await kept?.delegate("endless").next();
      } catch (error) {
        delegated = (error as Error).message;
      }
      yield completed(`${streamed}: ${delegated}`);
    });
    await using test = testAgent(front, { remoteAgents: { endless: agent } });
    await test.send("keep");
    expect(said(await test.send("use"))).toBe("CANCELLED: The turn is over.");
  });
});
