import { afterEach, describe, expect, it } from "vitest";
import { apiKeyScheme } from "../../src/auth/index.js";
import { type A2AOptions, createA2A, type Logger, type ServerOptions } from "../../src/index.js";
import { resolveOptions } from "../../src/server/resolve-options.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { obedient } from "../conformance/agents.js";
import { testTls } from "./tls.js";

/** Warnings at a server's start about the callers that it admits. */

const agent = obedient("open");
const closed = {
  ...agent,
  security: { schemes: { key: apiKeyScheme({ in: "header", name: "K", check: () => undefined }) } },
};
const authenticator = { authenticate: () => ({ owner: "me" }) };

const open = "anyone can read and cancel every task";
const push = "anyone who reaches the server can make it send requests";
const clear = "in the clear";

function warningsOf(options: Partial<ServerOptions>, listens = true): string[] {
  const warnings: string[] = [];
  const nothing = (): void => {};
  const warn = (_: object, message: string): void => void warnings.push(message);
  const logger: Logger = { debug: nothing, info: nothing, warn, error: nothing };
  resolveOptions({ agent, store: memoryStore(), logger, ...options }, listens);
  return warnings;
}

const risks = (options: Partial<ServerOptions>, listens = true): string[] => {
  const said = warningsOf(options, listens).join("\n");
  return [open, push, clear].filter((each) => said.includes(each));
};

describe("a server", () => {
  const public_ = { host: "0.0.0.0", publicUrl: "https://agents.example" };

  it.each([
    ["open, for this machine alone", {}, []],
    ["open, for this machine alone, with notifications", { push: true }, []],
    ["open to others", { host: "192.0.2.1" }, [open]],
    ["open to others, with notifications", { ...public_, push: true }, [open, push]],
    ["open, behind a proxy", { publicUrl: "https://agents.example" }, [open]],
    ["open, under a name of this machine", { publicUrl: "http://localhost:8080" }, []],
    ["with security, in the clear", { ...public_, agent: closed }, [clear]],
    ["with an authenticator, in the clear", { ...public_, authenticator }, [clear]],
    ["with security, over TLS", { ...public_, agent: closed, tls: testTls, push: true }, []],
    ["with security, behind a trusted proxy", { ...public_, agent: closed, trustProxy: "10.0.0.0/8" }, []],
    ["with one open agent of two", { ...public_, agent: undefined, agents: { a: closed, b: agent } }, [open]],
  ] as [string, Partial<ServerOptions>, string[]][])("%s", (_what, options, expected) => {
    expect(risks(options)).toEqual(expected);
  });
});

describe("a server with a publicUrl", () => {
  const said = (options: Partial<ServerOptions>): string[] =>
    warningsOf({ publicUrl: "https://agents.example", ...options }).filter((each) => each.includes("grpcPublicUrl"));

  it("says that its cards name gRPC by its own port, unless it is called directly", () => {
    const [warning] = said({ grpcPort: 50_061 });
    expect(warning).toContain("the cards name gRPC at agents.example:50061");
    expect(said({ publicUrl: "http://agents.example:8080", port: 8080, trustProxy: "10.0.0.5" })).toHaveLength(1);
    for (const fine of [
      { grpcPublicUrl: "agents.example:50051" },
      { grpcPort: false as const },
      { cardGrpc: "omit" as const },
      { publicUrl: "http://agents.example:8080", port: 8080 },
      { publicUrl: "http://localhost:8080" },
    ]) {
      expect([fine, said(fine)]).toEqual([fine, []]);
    }
  });
});

describe("a tenant whose paths are those of an older version", () => {
  const said = (options: Partial<ServerOptions>): string[] =>
    warningsOf(options).filter((each) => each.includes("A2A-Version"));
  const agents = { v1: agent, billing: agent };
  const several = { agent: undefined, agents } as unknown as Partial<ServerOptions>;

  it("is named at the start, with what its callers have to do", () => {
    const warning =
      "paths below /v1 are those of A2A 0.3: callers of the tenant v1 have to send A2A-Version: 1.0 over HTTP+JSON, " +
      "and those of 0.3 call it below /v1/v1";
    expect(said(several)).toEqual([warning]);
    expect(said({ tenants: ["v1"] })).toEqual([warning]);
    expect(said({})).toEqual([]);
    expect(said({ tenants: ["v2"] })).toEqual([]);
    expect(said({ ...several, versions: ["1.0"] })).toEqual([]);
  });
});

describe("an embedded handler", () => {
  it.each([
    ["of which nothing is known", {}, []],
    ["with notifications", { push: true }, [push]],
    ["that is public by its URL", { publicUrl: "https://agents.example" }, [open]],
    ["with security", { publicUrl: "https://agents.example", agent: closed, push: true }, []],
  ] as [string, Partial<A2AOptions>, string[]][])("%s", (_what, options, expected) => {
    expect(risks(options, false)).toEqual(expected);
  });
});

describe("without a logger", () => {
  const heard: string[] = [];
  const hear = (warning: Error): void => void heard.push(warning.message);
  afterEach(() => {
    process.off("warning", hear);
    heard.splice(0);
  });

  it("the process says who is let in, and nothing else", async () => {
    process.on("warning", hear);
    createA2A({ agent, store: memoryStore(), publicUrl: "https://agents.example" });
    createA2A({ agent: closed, store: memoryStore(), publicUrl: "https://agents.example" });
    await expect.poll(() => heard).toEqual([expect.stringContaining(open)]);
  });
});
