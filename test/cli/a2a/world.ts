import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { PassThrough } from "node:stream";
import probe from "../../../examples/probe/agent.js";
import type { Agent } from "../../../src/agent/agent.js";
import { artifact, completed, reply, working } from "../../../src/agent/event.js";
import type { InputStream } from "../../../src/cli/io.js";
import { runProgram } from "../../../src/cli/program.js";
import { A2AError, type Reason, reasons } from "../../../src/core/error.js";
import { createServer, type Server } from "../../../src/server/create-server.js";
import type { Invocation, Invoke } from "../../../src/service/invoke.js";
import { memoryStore } from "../../../src/store/memory/index.js";
import { jsonWriter } from "../../../src/wire/json-writer.js";
import { outputTo } from "../memory-io.js";

/** JSON of any form. Tests check it. */
export type Json = ReturnType<typeof JSON.parse>;

/** A call that the agent got. */
export interface Seen {
  readonly method: string;
  readonly request: Record<string, Json>;
  header(name: string): string | undefined;
}

/** The probe with further behaviour, selected by the first word of a message. */
const scripted: Agent = {
  ...probe,
  execute(turn) {
    const [word = "", name = ""] = turn.text.split(/\s+/);
    if (turn.task === undefined && word === "gate") return gated(name);
    if (turn.task === undefined && word === "parts") return parts();
    if (turn.task === undefined && word === "control") return control();
    if (turn.task === undefined && word === "hold") return hold(turn.signal);
    return probe.execute(turn);
  },
};

/** Yields every kind of part. */
async function* parts() {
  yield working();
  yield artifact({ name: "text", text: "one\n\ntwo" });
  yield artifact({ name: "data", data: { answer: 42 } });
  yield artifact({ name: "file", file: { bytes: new Uint8Array(5), name: "a.bin", mediaType: "application/x-a" } });
  yield artifact({
    name: "url",
    file: { url: "https://example.org/b.pdf", name: "b.pdf", mediaType: "application/pdf" },
  });
  yield completed();
}

/** Yields text with control sequences of a terminal. */
async function* control() {
  yield working();
  yield artifact({ name: "evil\u001b[2J\nState: FAKE", text: "\u001b]0;owned\u0007\u009b31m" });
  yield completed();
}

/** A gate that tasks wait at until a test opens it. */
export class Gate {
  readonly opened: Promise<void>;
  open: () => void = () => {};

  constructor() {
    this.opened = new Promise((resolve) => {
      this.open = resolve;
    });
  }
}

/** Gates by the word after `gate`. */
export const gates: Map<string, Gate> = new Map();

async function* gated(name: string) {
  yield working("At the gate.");
  await gates.get(name)?.opened;
  yield completed("Through the gate.");
}

/** Works until it is canceled. */
async function* hold(signal: AbortSignal) {
  yield working("Holding.");
  await new Promise((resolve) => signal.addEventListener("abort", resolve));
  yield reply("never");
}

/** A server with an agent for the tests of a file. */
export interface World {
  readonly server: Server;
  /** Calls since the last reset. */
  readonly seen: Seen[];
  /** Called before each call; may throw. */
  before: (seen: Seen) => void;
  /** Runs a command line in this process. `AGENT` stands for the agent's host. */
  run(argv: readonly string[], setup?: Setup): Promise<Outcome>;
  close(): Promise<void>;
}

/** The environment of a run. */
export interface Setup {
  readonly env?: Readonly<Record<string, string>>;
  /** Files of the working directory by path; those in `home/` are of the home directory. */
  readonly files?: Readonly<Record<string, string>>;
  /** stdin. A string is followed by the end of the input. */
  readonly stdin?: string | InputStream;
  readonly interrupted?: AbortSignal;
  /** Called with each output. */
  readonly onOutput?: (stream: "out" | "err", text: string) => void;
}

export interface Outcome {
  readonly exit: number | undefined;
  readonly out: string;
  readonly err: string;
  /** stdout as JSON. */
  readonly json: Json;
  /** stdout as lines of JSON. */
  readonly lines: readonly Json[];
}

/** Errors that the agent reports for the task id `error-<REASON>`. */
const reasonOf = (id: unknown): Reason | undefined => {
  const name = /^error-([A-Z_]+)$/.exec(String(id))?.[1];
  return name !== undefined && Object.hasOwn(reasons, name) ? (name as Reason) : undefined;
};

/** Options of the server, and capabilities of the card. */
interface WorldOptions extends Readonly<Record<string, unknown>> {
  readonly capabilities?: object;
  /** Replaces members of the scripted agent. */
  readonly agent?: object;
}

/** Serves the scripted agent over all bindings. */
export async function openWorld({ capabilities = {}, agent = {}, ...options }: WorldOptions = {}): Promise<World> {
  const seen: Seen[] = [];
  const world = { before: (_: Seen): void => {} };
  const server = await createServer({
    agent: { ...scripted, card: { ...scripted.card, capabilities }, ...agent },
    store: memoryStore(),
    host: "127.0.0.1",
    port: 0,
    grpcPort: 0,
    limits: { shutdownGraceMs: 0 },
    interceptors: [
      (next: Invoke) => (invocation: Invocation) => {
        const { method, request, call } = invocation;
        const json = JSON.parse(jsonWriter(method.input)(request)) as Record<string, Json>;
        const one = { method: method.name, request: json, header: (name: string) => call.header(name) };
        seen.push(one);
        world.before(one);
        const reason = reasonOf(json.id);
        if (reason !== undefined) throw new A2AError(reason, `The agent says ${reason}.`);
        return next(invocation);
      },
    ],
    ...options,
  } as never);
  return Object.assign(world, {
    server,
    seen,
    run: (argv: readonly string[], setup: Setup = {}) =>
      runIn(
        argv.map((word) => word.replace(/^(\w+:\/\/)?AGENT/, (_, scheme = "") => `${scheme}127.0.0.1:${server.port}`)),
        setup,
      ),
    close: () => server.close({ graceMs: 0 }),
  });
}

/** Runs a command line in this process, in a folder of its own. */
export async function runIn(argv: readonly string[], setup: Setup = {}): Promise<Outcome> {
  const root = mkdtempSync(join(tmpdir(), "parley-a2a-"));
  const [cwd, home] = [join(root, "work"), join(root, "home")];
  for (const folder of [cwd, home]) mkdirSync(folder);
  for (const [path, text] of Object.entries(setup.files ?? {})) {
    const file = path.startsWith("home/") ? join(root, path) : join(cwd, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text, { mode: 0o600 });
  }
  let [out, err] = ["", ""];
  const { stdin = "" } = setup;
  try {
    const exit = await runProgram(argv, {
      program: "parley",
      version: "1.2.3",
      env: setup.env ?? {},
      cwd,
      home,
      interrupted: setup.interrupted ?? new AbortController().signal,
      stdin: typeof stdin === "string" ? new PassThrough().end(stdin) : stdin,
      stdout: outputTo((text) => {
        out += text;
        setup.onOutput?.("out", text);
      }),
      stderr: outputTo((text) => {
        err += text;
        setup.onOutput?.("err", text);
      }),
    });
    return {
      exit,
      out,
      err,
      get json() {
        return JSON.parse(out);
      },
      get lines() {
        return out
          .trimEnd()
          .split("\n")
          .map((line) => JSON.parse(line));
      },
    };
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}
