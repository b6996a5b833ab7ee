import type { Agent } from "../../src/agent/agent.js";
import { artifact, completed, inputRequired, working } from "../../src/agent/event.js";
import type { Logger } from "../../src/core/log.js";
import { createServer, type Server } from "../../src/server/create-server.js";
import type { ServerOptions } from "../../src/server/options.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { afterEachTest } from "../support/clean-up.js";
import { Gates } from "../support/gates.js";

const cleanups: (() => unknown)[] = [];
afterEachTest(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean();
});

/** Runs when the test is over, last in, first out. */
export function cleanup(clean: () => unknown): void {
  cleanups.push(clean);
}

/** A line of a log. */
export interface Line {
  readonly level: keyof Logger;
  readonly facts: object;
  readonly message: string;
}

/** A whole server on ports of its own, and what it logged. */
export interface Served {
  readonly server: Server;
  readonly url: string;
  readonly port: number;
  readonly grpcPort: number;
  readonly lines: readonly Line[];
  readonly gates: Gates;
  /** Returns the errors logged since the last call. Input of clients must never cause any. */
  errors(): Line[];
}

/** `ask` pauses, `gate <name>` waits at a gate, `flood <count> <bytes>` streams; anything else comes back. */
function agentOf(gates: Gates): Agent {
  return {
    card: { name: "Echo", description: "Sends back what it gets.", version: "1.0.0" },
    async *execute(turn) {
      const [word, first = "", second] = turn.text.split(" ");
      if (word === "gate") {
        yield working();
        await gates.pass(first, turn.signal);
      } else if (word === "flood") {
        const text = "x".repeat(Number(second));
        for (let i = 0; i < Number(first); i++) yield artifact({ name: "flood", text, append: i > 0 });
      } else if (word === "ask") {
        yield inputRequired("What?");
        return;
      } else {
        yield artifact({ parts: [{ text: turn.text }, ...turn.data.map((data) => ({ data }))] });
      }
      yield completed();
    },
  };
}

/** Starts a server that closes after the test. */
export async function serve(more: Partial<ServerOptions> = {}): Promise<Served> {
  const lines: Line[] = [];
  const at = (level: keyof Logger) => (facts: object, message: string) => void lines.push({ level, facts, message });
  const logger: Logger = { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
  const gates = new Gates();
  const options = { agent: agentOf(gates), store: memoryStore(), port: 0, grpcPort: 0, logger, ...more };
  const server = await createServer(options);
  cleanup(() => server.close({ graceMs: 0 }));
  const { url, port, grpcPort = 0 } = server;
  return {
    server,
    url,
    port,
    grpcPort,
    lines,
    gates,
    errors: () => lines.splice(0).filter(({ level }) => level === "error"),
  };
}

/** A message of one text, as JSON. */
export function messageOf(text: string, more: object = {}): { message: object } {
  return { message: { messageId: "m", role: "ROLE_USER", parts: [{ text }], ...more } };
}

/** Polls until the condition holds. The test's own timeout ends it. */
export async function until(met: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await met())) await new Promise((resolve) => setTimeout(resolve, 10));
}
