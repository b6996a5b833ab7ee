import { describe, expect, it } from "vitest";
import type { Agent } from "../../../src/agent/agent.js";
import { artifact, completed } from "../../../src/agent/event.js";
import type { A2AClient, A2AError, Binding } from "../../../src/client/index.js";
import { connect, serve } from "../world.js";

function named(name: string): Agent {
  const card = { name, description: "Says who it is.", version: "1.0.0" };
  return {
    card,
    extendedCard: { ...card, description: `More of ${name}.` },
    async *execute(turn) {
      yield artifact({ text: `${name}: ${turn.text}` });
      yield completed();
    },
  };
}

/** Starts a server of two agents that know all callers. Returns its URL. */
async function two(): Promise<string> {
  const agents = { sales: named("Sales"), "café 2": named("Café") };
  const authenticator = { authenticate: () => ({ owner: "ann" }) };
  const { port } = await serve({ agent: undefined, agents, authenticator } as never);
  return `http://127.0.0.1:${port}`;
}

const CAFE = "caf%C3%A9%202";

const ways: readonly (readonly [version: string, binding: Binding])[] = [
  ["1.0", "JSONRPC"],
  ["0.3", "JSONRPC"],
  ["0.3", "HTTP+JSON"],
  ["0.2", "JSONRPC"],
  ["0.1", "JSONRPC"],
];

const artifactOf = async (client: A2AClient, text: string): Promise<[id: string, text: unknown]> => {
  const { taskId = "", task } = await client.send({ parts: [{ text }] });
  return [taskId, task?.artifacts[0]?.parts[0]?.content.value];
};

describe.each(ways)("the agents of a server, in A2A %s over %s", (version, binding) => {
  it("are both reached by their cards, each with its own tasks", async () => {
    const url = await two();
    const open = (at: string): Promise<A2AClient> => connect(`${url}/${at}`, { version, bindings: [binding] });
    const [sales, cafe] = [await open("sales"), await open(CAFE)];
    for (const client of [sales, cafe]) {
      expect(client.interface).toMatchObject({ protocolVersion: version, protocolBinding: binding });
    }
    const [mine, said] = await artifactOf(sales, "hello");
    expect([said, (await artifactOf(cafe, "hi"))[1]]).toEqual(["Sales: hello", "Café: hi"]);
    expect((await sales.getTask({ id: mine })).id).toBe(mine);
    const missing = await cafe.getTask({ id: mine }).catch((error: A2AError) => error.reason);
    expect(missing).toBe("TASK_NOT_FOUND");
    const texts: string[] = [];
    for await (const update of cafe.stream("count")) if (update.kind === "artifact") texts.push(update.text);
    expect(texts).toEqual(["Café: count"]);
    if (version === "0.1") return;
    expect((await cafe.extendedCard()).description).toBe("More of Café.");
    expect((await sales.extendedCard()).description).toBe("More of Sales.");
    // Further calls reach the same agent.
    expect((await artifactOf(cafe, "again"))[1]).toBe("Café: again");
  });

  it("are reached by cards of that version alone", async () => {
    const url = await two();
    const path = version === "1.0" || version === "0.3" ? "agent-card.json" : "agent.json";
    for (const [at, name] of [
      ["sales", "Sales"],
      [CAFE, "Café"],
    ]) {
      const got = await fetch(`${url}/${at}/.well-known/${path}`, { headers: { "A2A-Version": version } });
      const client = await connect((await got.json()) as object, { bindings: [binding] });
      expect(client.interface?.protocolVersion).toBe(version);
      expect((await artifactOf(client, "hello"))[1]).toBe(`${name}: hello`);
    }
  });
});
