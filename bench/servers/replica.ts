/**
 * Parley on a PostgreSQL database, with an agent that yields the present time at a steady pace. Arguments: the URL of the
 * database, then how servers learn of changes: `NOTIFY`, `polling`, or the URL of a NATS server. A message names the number of
 * events and the milliseconds between two of them.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Agent } from "../../src/agent/agent.js";
import { artifact, working } from "../../src/agent/event.js";
import { createServer } from "../../src/server/create-server.js";
import { localSignals } from "../../src/signals/hub.js";
import { natsSignals } from "../../src/signals/nats/index.js";
import { postgresStore } from "../../src/store/postgres/index.js";
import { serve } from "./child.js";

/** Time for the subscribers to arrive before the first event, in milliseconds. */
const HEAD_START_MS = 500;

const agent: Agent = {
  card: { name: "Clock", description: "Tells the time.", version: "1.0.0", skills: [] },
  async *execute({ text }) {
    const [count = 0, ms = 0] = text.split(" ").map(Number);
    yield working();
    await sleep(HEAD_START_MS + Math.random() * ms);
    for (let index = 0; index < count; index++) {
      yield artifact({ id: "t", text: `${process.hrtime.bigint()}`, append: index > 0 });
      await sleep(ms);
    }
  },
};

const [, , url = "", carrier = ""] = process.argv;
// Local signals reach no other process.
const signals = await (carrier === "NOTIFY"
  ? undefined
  : carrier === "polling"
    ? localSignals()
    : natsSignals(carrier));
const server = await createServer({
  agent,
  store: await postgresStore({ url, require: "local" }),
  host: "127.0.0.1",
  port: 0,
  grpcPort: 0,
  ...(signals !== undefined && { signals }),
});

serve({ http: server.port, grpc: server.grpcPort, rpcPath: "/", restPath: "" });
