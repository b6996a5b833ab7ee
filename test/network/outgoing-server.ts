import { generateKeyPairSync } from "node:crypto";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { artifact, completed, inputRequired } from "../../src/agent/event.js";
import { slowReader } from "../../src/http/response.js";
import { createServer } from "../../src/server/create-server.js";
import { outgoingWait } from "../../src/service/outgoing-budget.js";
import { sqliteStore } from "../../src/store/sqlite/index.js";
import { operators } from "../admin/world.js";

/** A server in a process of its own, whose memory can be asked for. Arguments: a file for its tasks, limits and constants as JSON. */
const [file = "", limits = "{}", constants = "{}"] = process.argv.slice(2);
const { slowReaderMs = slowReader.timeoutMs, outgoingWaitMs = outgoingWait.timeoutMs } = JSON.parse(constants);
Object.assign(slowReader, { timeoutMs: slowReaderMs });
Object.assign(outgoingWait, { timeoutMs: outgoingWaitMs });

const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
const key = privateKey.export({ type: "pkcs8", format: "pem" }) as string;

const server = await createServer({
  agent: {
    card: { name: "Big", description: "Makes large tasks.", version: "1.0.0" },
    // `flood <count> <bytes>` is over then, `pause <count> <bytes>` waits for its client.
    async *execute({ text }) {
      const [word, count, bytes] = text.split(" ");
      const piece = "x".repeat(Number(bytes));
      for (let i = 0; i < Number(count); i++) yield artifact({ name: "large", text: piece, append: i > 0 });
      if (word === "pause") yield inputRequired("More?");
      else yield completed();
    },
  },
  store: sqliteStore({ path: file, synchronous: "NORMAL" }),
  port: 0,
  grpcPort: 0,
  cardSigning: { keys: [{ key, kid: "card" }] },
  admin: { listen: "127.0.0.1:0", tokens: operators },
  limits: JSON.parse(limits),
});

const delay = monitorEventLoopDelay({ resolution: 5 });
delay.enable();

process.on("message", () => {
  globalThis.gc?.();
  const { heapUsed, external, rss } = process.memoryUsage();
  process.send?.({ held: heapUsed + external, rss, longestMs: Math.round(delay.max / 1e6) });
  delay.reset();
});
process.on("disconnect", () => process.exit());
const adminPort = Number(new URL(server.adminUrl ?? "").port);
process.send?.({ port: server.port, grpcPort: server.grpcPort, adminPort });
