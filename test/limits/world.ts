import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { expect } from "vitest";
import type { Agent } from "../../src/agent/agent.js";
import { anonymous } from "../../src/core/call.js";
import type { FixedLimit, Limits } from "../../src/core/limits.js";
import { secured } from "../auth/world.js";
import { gates, obedient } from "../conformance/agents.js";
import type { CallOptions, Driver, OpenStream } from "../support/driver.js";
import type { WireError } from "../support/wire-error.js";

/** A server that believes the names in its callers' tokens, reached over one binding. */
export interface LimitedWorld {
  readonly driver: Driver;
  readonly log: string[];
  readonly url: string;
  close(): Promise<void>;
}

/** Starts a server with some limits, and a client over one binding. */
export async function limited(
  title: string,
  limits: Partial<Limits>,
  agent?: Agent,
  tenants?: readonly string[],
): Promise<LimitedWorld> {
  const { drivers, log, close, address } = await secured({
    agent: agent ?? obedient("limited"),
    limits,
    ...(tenants && { tenants }),
    authenticator: {
      authenticate: (call) => {
        const [, owner] = /^Bearer (.+)$/.exec(call.header("authorization") ?? "") ?? [];
        return owner === undefined ? anonymous : { owner };
      },
    },
  });
  const driver = drivers.get(title);
  if (driver === undefined) throw new Error(`There is no binding ${title}.`);
  return { driver, log: log.lines, url: address.url, close };
}

let count = 0;

/** A message to the agent of the tests. */
export function say(text: string, more: JsonObject = {}): JsonObject {
  return { message: { messageId: `m${++count}`, role: "ROLE_USER", parts: [{ text }], ...more } };
}

/** A message whose sender does not wait for the task. */
export function leave(text: string, more: JsonObject = {}, tenant = ""): JsonObject {
  return { ...say(text, more), configuration: { returnImmediately: true }, ...(tenant !== "" && { tenant }) };
}

export const as = (owner: string): CallOptions => ({ headers: { Authorization: `Bearer ${owner}` } });

/** Creates a gate name for a test. */
export const newGate = (): string => `limits-${++count}`;

export { gates };

/** Opens a stream and reads its first message. The stream stays open. */
export async function begun(driver: Driver, rpc: string, request: JsonObject, options: CallOptions) {
  const stream: OpenStream = driver.stream(rpc, request, options);
  const item = await stream.next();
  return { stream, error: "error" in item ? item.error : undefined, message: "message" in item ? item.message : {} };
}

/** Checks a refusal by a limit, which names the limit and the time of a retry on every binding. */
export function expectLimit(
  driver: Driver,
  { error, headers }: { readonly error?: WireError | undefined; readonly headers?: Readonly<Record<string, string>> },
  limit: keyof Limits | FixedLimit,
): void {
  expect(error?.reason).toBe("TOO_MANY_REQUESTS");
  const find = (type: string): JsonValue | undefined =>
    error?.details.find((detail) => detail["@type"] === `type.googleapis.com/google.rpc.${type}`);
  expect(find("ErrorInfo")).toMatchObject({ metadata: { limit } });
  expect(find("RetryInfo")).toMatchObject({ retryDelay: expect.stringMatching(/^[\d.]+s$/) });
  if (driver.name === "rest") expect(error?.native).toBe(429);
  else if (driver.name !== "jsonrpc") expect(error?.status).toBe("RESOURCE_EXHAUSTED");
  if (headers !== undefined) {
    expect(headers["retry-after"]).toMatch(/^[1-9]\d*$/);
  }
}
