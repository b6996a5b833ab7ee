import { reply } from "../../src/agent/event.js";
import { createServer } from "../../src/server/create-server.js";
import { memoryStore } from "../../src/store/memory/index.js";

/** A server in its own process, which reports the heap after a full collection or after one of young objects. */
const server = await createServer({
  agent: {
    card: { name: "Says", description: "Answers with a message.", version: "1.0.0" },
    responds: "message",
    async *execute() {
      yield reply("Hello.");
    },
  },
  store: memoryStore(),
  port: 0,
  grpcPort: 0,
});

const collect = globalThis.gc as (options?: { type: "minor" }) => void;

process.on("message", (which) => {
  // Objects that survive two young collections are old.
  if (which === "young") for (let i = 0; i < 2; i++) collect({ type: "minor" });
  else collect();
  process.send?.(process.memoryUsage().heapUsed);
});
process.on("disconnect", () => process.exit());
process.send?.({ port: server.port, grpcPort: server.grpcPort });
