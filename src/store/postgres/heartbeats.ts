// The thread that sends heartbeats while an agent blocks the event loop.

import { parentPort, workerData } from "node:worker_threads";
import driver, { type Client } from "pg";
import { Heartbeat } from "../heartbeat.js";
import type { HeartbeatRequest } from "../task-store.js";

/** Data for the start of the thread. */
export interface HeartbeatData {
  readonly url: string;
  readonly schema: string;
  readonly timeoutMs: number;
  /** An expression that is true on the server of the store alone. */
  readonly isSame: string;
}

// `startHeartbeats` passes it.
const { url, schema, timeoutMs, isSame } = workerData as HeartbeatData;

let connection: Client | undefined;

/** Holders whose heartbeats are due. */
const due = new Set<string>();
let isSending = false;

/** The connection, opened when a heartbeat is due: few processes ever need one. */
async function connected(): Promise<Client> {
  if (connection !== undefined) return connection;
  const client = new driver.Client({
    connectionString: url,
    application_name: "parley heartbeat",
    connectionTimeoutMillis: timeoutMs,
    query_timeout: timeoutMs,
  });
  client.on("error", () => drop(client));
  await client.connect();
  connection = client;
  return client;
}

function drop(client: Client | undefined): void {
  if (connection === client) connection = undefined;
  client?.end().catch(() => {});
}

/** Changes the number of a holder. One that another process has evicted stays evicted. */
async function sendHeartbeat(holder: string): Promise<void> {
  try {
    const client = await connected();
    const number = Math.floor(Math.random() * 2 ** 48);
    await client.query(`UPDATE ${schema}.holder SET beat = $1 WHERE id = $2 AND ${isSame}`, [number, holder]);
  } catch {
    // The next one tries again, on another connection.
    drop(connection);
  }
}

/** Sends one heartbeat at a time, so that all holders share a connection. Never rejects. */
async function sendHeartbeats(): Promise<void> {
  if (isSending) return;
  isSending = true;
  for (const holder of due) {
    due.delete(holder);
    await sendHeartbeat(holder);
  }
  isSending = false;
}

const heartbeats = new Heartbeat(({ holder }) => {
  due.add(holder);
  void sendHeartbeats();
});
parentPort?.on("message", (request: HeartbeatRequest) => heartbeats.note(request));
