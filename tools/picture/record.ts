import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

const root = join(import.meta.dirname, "..", "..");

/** An event as a client received it. */
export interface Received {
  readonly id: string;
  /** Its payload in a few words, without ids and times. */
  readonly shown: string;
  /** Seconds since the client sent its message. */
  readonly at: number;
}

/** A stream that was cut by `kill -9`, and its continuation. Times are seconds since the client sent its message. */
export interface Recording {
  readonly before: readonly Received[];
  readonly killedAt: number;
  readonly readyAt: number;
  readonly after: readonly Received[];
}

/** Streams an answer of examples/recovery, kills the server after some of its events, restarts it and resumes the stream. */
export async function recordStream(killAfter: number): Promise<Recording> {
  const folder = mkdtempSync(join(tmpdir(), "parley-picture-"));
  const port = await freePort();
  const store = join(folder, "tasks.db");
  let server = await serve(port, store);
  const sent = performance.now();
  const now = (): number => (performance.now() - sent) / 1000;
  try {
    const before: Received[] = [];
    let task = "";
    const message = { messageId: "1", role: "ROLE_USER", parts: [{ text: "go" }] };
    const url = `http://127.0.0.1:${port}`;
    const headers = { "content-type": "application/json" };
    const body = JSON.stringify({ message });
    for await (const { id, payload } of eventsOf(`${url}/message:stream`, { method: "POST", headers, body })) {
      task ||= payload.task?.id ?? "";
      before.push({ id, shown: shownAs(payload), at: now() });
      if (before.length === killAfter) break;
    }
    server.kill("SIGKILL");
    await once(server, "exit");
    const killedAt = now();
    server = await serve(port, store);
    const readyAt = now();
    const last = before.at(-1)?.id ?? "";
    const after: Received[] = [];
    for await (const { id, payload } of eventsOf(`${url}/tasks/${task}:subscribe`, {
      headers: { "last-event-id": last },
    })) {
      // The first frame is the task as it is now, under the id that the client named.
      if (id !== last) after.push({ id, shown: shownAs(payload), at: now() });
    }
    return { before, killedAt, readyAt, after };
  } finally {
    server.kill("SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  }
}

async function serve(port: number, store: string): Promise<ChildProcess> {
  const command = [join(root, "dist/src/cli/main.js"), "serve", join(root, "examples/recovery/agent.ts")];
  const flags = ["--port", `${port}`, "--grpc-port", "off", "--store", store, "--log-level", "warn"];
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("PARLEY_")));
  const child = spawn(process.execPath, [...command, ...flags], {
    cwd: root,
    env,
    stdio: ["ignore", "pipe", "inherit"],
  });
  await new Promise<void>((resolve, reject) => {
    child.once("exit", (code) => reject(new Error(`The server ended with ${code}.`)));
    child.stdout.on("data", (text) => String(text).includes("is ready.") && resolve());
  });
  return child;
}

interface Payload {
  readonly task?: { readonly id: string; readonly status: { readonly state: string } };
  readonly statusUpdate?: { readonly status: { readonly state: string } };
  readonly artifactUpdate?: { readonly artifact: { readonly parts: readonly { readonly text: string }[] } };
}

function shownAs({ task, statusUpdate, artifactUpdate }: Payload): string {
  const state = (statusUpdate ?? task)?.status.state;
  if (state !== undefined) return state.replace("TASK_STATE_", "").toLowerCase();
  return JSON.stringify(artifactUpdate?.artifact.parts.map(({ text }) => text).join(""));
}

/** The server-sent events of an answer. */
async function* eventsOf(url: string, init: RequestInit): AsyncGenerator<{ id: string; payload: Payload }> {
  const response = await fetch(url, init);
  if (!response.ok || response.body === null) throw new Error(`${url} answers ${response.status}`);
  let text = "";
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    const frames = text.split("\n\n");
    text = frames.pop() ?? "";
    for (const frame of frames) {
      const [, id = "", data = ""] = /^id: (\d+)\ndata: (.*)$/.exec(frame) ?? [];
      if (data !== "") yield { id, payload: JSON.parse(data) as Payload };
    }
  }
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const { port } = probe.address() as { port: number };
  probe.close();
  await once(probe, "close");
  return port;
}
