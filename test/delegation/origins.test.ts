import { afterEach, describe, expect, it } from "vitest";
import type { Task } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { type AgentEvent, artifact, completed, inputRequired, working } from "../../src/agent/event.js";
import type { A2AClient } from "../../src/client/client.js";
import { connect } from "../../src/client/index.js";
import { DELEGATION_EXTENSION } from "../../src/index.js";
import { testAgent } from "../../src/testing/index.js";
import { agentOf, Servers } from "./servers.js";

const servers = new Servers();
const clients: A2AClient[] = [];
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
  await servers.close();
});

let subTaskId = "";
const other = agentOf("Other Agent", async function* (turn): AsyncGenerator<AgentEvent> {
  subTaskId = turn.taskId;
  yield working({ parts: [{ text: "working" }], metadata: { own: 1 } });
  yield artifact({ id: "a", text: "one", metadata: { own: 2 } });
  yield artifact({ id: "a", text: "two", append: true });
  if (turn.history.length === 0) yield inputRequired("Which?");
  else yield completed("done");
});

const front = agentOf("Front", async function* (turn): AsyncGenerator<AgentEvent> {
  yield working("mine");
  yield* turn.delegate("other");
  yield completed("all done");
});

type Origin = { agent: string; taskId?: string; origin?: Origin };

/** Origins of a task's messages and artifacts. */
function originsOf({ status, history, artifacts }: Task) {
  const of = (each: { metadata?: unknown } | undefined) =>
    (each?.metadata as Record<string, Origin> | undefined)?.[DELEGATION_EXTENSION];
  return { status: of(status?.message), history: history.map(of), artifacts: artifacts.map(of) };
}

describe("the origin of relayed events", () => {
  it.each(["CONNECT", "JSONRPC", "HTTP+JSON", "GRPC-WEB", "GRPC"] as const)(
    "is in the stream and the task over %s",
    async (binding) => {
      const { url } = await servers.serve(other);
      const server = await servers.serve(front, { remoteAgents: { other: url } });
      const client = await connect(server.url, { bindings: [binding] });
      clients.push(client);
      expect(client.card.capabilities?.extensions.map(({ uri }) => uri)).toContain(DELEGATION_EXTENSION);
      const streamed: unknown[] = [];
      let task: Task | undefined;
      for await (const update of client.stream("go")) {
        task = update.task ?? task;
        const payload = update.event?.payload;
        const content =
          payload?.case === "statusUpdate"
            ? payload.value.status?.message
            : payload?.case === "artifactUpdate"
              ? payload.value.artifact
              : undefined;
        if (content !== undefined) streamed.push(content.metadata ?? {});
      }
      const origin = { agent: "other", taskId: subTaskId };
      const relayed = { [DELEGATION_EXTENSION]: origin };
      expect(streamed).toEqual([{}, { own: 1, ...relayed }, { own: 2, ...relayed }, {}, relayed]);
      const stored = await client.getTask({ id: task?.id ?? "" });
      expect(originsOf(stored)).toEqual({
        status: origin,
        history: [undefined, undefined, origin],
        artifacts: [origin],
      });
      expect(stored.artifacts[0]?.extensions).toEqual([DELEGATION_EXTENSION]);
      expect(stored.status?.message?.extensions).toEqual([DELEGATION_EXTENSION]);
    },
  );

  it("names the card of an agent that its caller names by URL, and each agent on the way", async () => {
    const { url } = await servers.serve(other);
    const middle = agentOf("Middle", async function* (turn): AsyncGenerator<AgentEvent> {
      yield* turn.delegate(url);
    });
    const outer = agentOf("Outer", async function* (turn): AsyncGenerator<AgentEvent> {
      yield* turn.delegate("middle");
    });
    await using test = testAgent(outer, { remoteAgents: { middle } });
    const { status } = originsOf(await test.send("go"));
    expect(status).toEqual({
      agent: "middle",
      taskId: expect.any(String),
      origin: { agent: "Other Agent", taskId: subTaskId },
    });
  });

  it("is declared by servers with the option remoteAgents only", async () => {
    const uris = ({ card }: { card: { capabilities?: { extensions: { uri: string }[] } | undefined } }) =>
      card.capabilities?.extensions.map(({ uri }) => uri);
    expect(uris(await servers.serve(front))).not.toContain(DELEGATION_EXTENSION);
    expect(uris(await servers.serve(front, { remoteAgents: {} }))).toContain(DELEGATION_EXTENSION);
  });
});
