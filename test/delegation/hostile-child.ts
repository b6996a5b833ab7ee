// A server with little memory. Its agent delegates to the agent at the URL that a message names.
import { completed } from "../../src/agent/event.js";
import { remoteBounds } from "../../src/delegation/remotes.js";
import { createServer } from "../../src/index.js";
import { memoryStore } from "../../src/store/memory/index.js";

Object.assign(remoteBounds, { maxOutageMs: 1_000 });

const server = await createServer({
  agent: {
    card: { name: "Front", description: "Hands work on.", version: "1.0.0" },
    async *execute(turn) {
      if (!turn.text.startsWith("http")) return yield completed(turn.text);
      const { text } = yield* turn.delegate(turn.text);
      yield completed(`${text.length} characters`);
    },
  },
  store: memoryStore(),
  port: 0,
});

process.on("disconnect", () => process.exit());
process.send?.(server.url);
