import { inspect } from "node:util";
import { auditBounds } from "../../src/audit/audit.js";
import type { AgentSecurity } from "../../src/auth/index.js";
import type { AgentsInput } from "../../src/extend.js";
import { type A2AOptions, createA2A, createServer, type Logger } from "../../src/index.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { obedient } from "../conformance/agents.js";
import { setConstantsOfFile } from "../support/constants.js";
import type { Address, Driver } from "../support/driver.js";
import { type Binding, bindings, fetchBindings, grpcHttp } from "../support/drivers.js";

/** Every binding of a server and of `createA2A().fetch`. */
export const everyBinding: readonly Binding[] = [...bindings, grpcHttp, ...fetchBindings];

export const titleOf = ({ name, title = name }: Binding): string => title;

/** Records all log lines with their facts. */
export class Log implements Logger {
  readonly lines: string[] = [];
  readonly debug = this.#line("debug");
  readonly info = this.#line("info");
  readonly warn = this.#line("warn");
  readonly error = this.#line("error");

  get text(): string {
    return this.lines.join("\n");
  }

  #line(level: string): (facts: object, message: string) => void {
    return (facts, message) => {
      this.lines.push(`${level} ${message} ${inspect(facts, { depth: 20, showHidden: true })}`);
    };
  }
}

/** A server with secured agents, and a client for every binding. */
export interface SecuredWorld {
  readonly drivers: ReadonlyMap<string, Driver>;
  readonly address: Address;
  readonly log: Log;
  close(): Promise<void>;
}

/** Starts a server, and the same agents for `fetch`. */
export async function secured(options: AgentsInput & Partial<A2AOptions>): Promise<SecuredWorld> {
  // The limits are high, so that the audit log does not join records.
  setConstantsOfFile(auditBounds, { records: 1_000_000, recordsPerSource: 1_000_000 });
  const log = new Log();
  const limits = { shutdownGraceMs: 50, maxFailedAttempts: 1_000_000, ...options.limits };
  const all = { ...options, limits, logger: log, accessLog: true };
  const server = await createServer({ ...all, store: memoryStore(), port: 0, grpcPort: 0 });
  const mounted = createA2A({ ...all, store: memoryStore(), grpcPublicUrl: "127.0.0.1:50051" });
  const address = { url: `http://127.0.0.1:${server.port}`, grpcPort: server.grpcPort ?? 0 };
  const overFetch = {
    url: "http://127.0.0.1:8080",
    grpcPort: 0,
    fetch: (request: Request) => mounted.fetch(request, { remoteAddress: "192.0.2.7" }),
  };
  const drivers = new Map(
    everyBinding.map((binding) => [titleOf(binding), binding.connect(binding.isFetch ? overFetch : address)]),
  );
  const close = async (): Promise<void> => {
    for (const driver of drivers.values()) driver.close();
    await server.close();
    await mounted.close();
  };
  return { drivers, address, log, close };
}

/** Starts a server with one secured agent. */
export function securedAgent(security: AgentSecurity, more: Partial<A2AOptions> = {}): Promise<SecuredWorld> {
  return secured({ agent: { ...obedient("secured"), security }, ...more });
}

let count = 0;

export const say = (text: string): { message: Record<string, unknown> } & Record<string, never> =>
  ({ message: { messageId: `m${++count}`, role: "ROLE_USER", parts: [{ text }] } }) as never;
