import { afterEach, describe, expect, it } from "vitest";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { artifact, completed, inputRequired } from "../../src/agent/event.js";
import type { A2AClient } from "../../src/client/client.js";
import { connectWith } from "../../src/client/connect.js";
import { nodePlatform } from "../../src/client/node/platform.js";
import { memoryStore } from "../../src/store/memory/index.js";
import type { TaskStore } from "../../src/store/task-store.js";
import { agentOf, Servers } from "./servers.js";

const connect = connectWith(nodePlatform);
const servers = new Servers();
const clients: A2AClient[] = [];
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
  await servers.close();
});

const PIECES = 200;
const TURNS = 10;

/** Writes some pieces in each turn and asks. Ends after enough answers. */
const asking = agentOf("Asking", async function* (turn) {
  for (let at = 0; at < PIECES; at++) yield artifact({ id: "a", text: "x", append: true });
  if (turn.text === `${TURNS}`) yield completed("done");
  else yield inputRequired("and?");
});

/** A store that counts the entries read other than to load a task. */
function counting(): { readonly store: TaskStore; readonly read: () => number } {
  let count = 0;
  const inner = memoryStore();
  const store = new Proxy(inner, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      return async (...given: unknown[]): Promise<unknown> => {
        const result: unknown = await Reflect.apply(value, target, given);
        if (name === "read") count += (result as unknown[]).length;
        return result;
      };
    },
  });
  return { store, read: () => count };
}

describe("a task of many turns with another agent", () => {
  it("does not read its log anew in each of them", async () => {
    const other = await servers.serve(asking);
    const front = agentOf("Front", async function* (turn) {
      yield* turn.delegate("other");
    });
    const { store, read } = counting();
    const server = await servers.serve(front, { store, remoteAgents: { other: other.url } });
    const client = await connect(server.url);
    clients.push(client);
    const conversation = client.conversation();
    const reads: number[] = [];
    for (let turn = 0; turn <= TURNS; turn++) {
      const before = read();
      const { state } = await conversation.send(`${turn}`);
      expect(state).toBe(turn < TURNS ? TaskState.INPUT_REQUIRED : TaskState.COMPLETED);
      reads.push(read() - before);
    }
    // The reads cover the message that began the work and the messages of single turns.
    expect(Math.max(...reads)).toBeLessThan(PIECES);
  });
});
