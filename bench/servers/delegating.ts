/**
 * Parley with an agent that asks another one. Arguments: the URL of the other agent, then `memory` or the path of a SQLite file. The
 * first word of a message says how it asks, `call` or `delegate`; the rest is what it asks for.
 */
import type { Agent } from "../../src/agent/agent.js";
import { artifact, completed } from "../../src/agent/event.js";
import { createServer } from "../../src/server/create-server.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { sqliteStore } from "../../src/store/sqlite/index.js";
import { serve } from "./child.js";

const CALL = "call ";

const agent: Agent = {
  card: { name: "Bench", description: "Asks another agent.", version: "1.0.0", skills: [] },
  async *execute(turn) {
    const order = turn.text.slice(turn.text.indexOf(" ") + 1);
    if (turn.text.startsWith(CALL)) {
      const other = await turn.call("other");
      const { text } = await other.send(order);
      yield artifact({ name: "result", text, lastChunk: true });
    } else {
      yield* turn.delegate("other", order);
    }
    yield completed();
  },
};

const [, , url = "", storage = "memory"] = process.argv;
const server = await createServer({
  agent,
  store: storage === "memory" ? memoryStore() : sqliteStore(storage),
  host: "127.0.0.1",
  port: 0,
  grpcPort: 0,
  remoteAgents: { other: url },
});

serve({ http: server.port, grpc: server.grpcPort, rpcPath: "/", restPath: "" });
