import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { connect } from "../../src/client/index.js";
import { type Json, runIn } from "../cli/a2a/world.js";
import { plainServers, type Started, servers } from "./support/servers.js";

const all = {
  ...plainServers,
  ...Object.fromEntries(Object.entries(servers).map(([name, start]) => [name, { start: () => start() }])),
};

const everywhere = (...lines: readonly string[]): string[] =>
  ["JSONRPC", "HTTP+JSON", "GRPC"].flatMap((binding) => lines.map((line) => `${binding} ${line}`));

const ofDraft = ["send", "send-unknown", "stream"].map((check) => `${check}: .*returnImmediately`);

/**
 * Findings of doctor for each server, as patterns of `binding check: detail`. Those over JSON-RPC of Go, JavaScript and Python were
 * seen with curl as well; the others were judged by the detail. Each departs from the section that the check names.
 */
const findings: Readonly<Record<string, readonly string[]>> = {
  Parley: [],
  // A draft of 1.0 in its details.
  "a2a-java-sdk 1.0.0.Alpha3": [
    "card cache: there is no Cache-Control",
    "card etag: there is no ETag",
    ...["JSONRPC", "HTTP+JSON"].flatMap((binding) =>
      ["unknown-version: .*got TASK_NOT_FOUND", ...ofDraft].map((line) => `${binding} ${line}`),
    ),
    "JSONRPC push: .*got INVALID_PARAMS: .*url in message",
    "JSONRPC error-data: there are no details",
    "JSONRPC parse-error: .*closed before the answer was complete",
    "JSONRPC wrong-params: .*got -32700",
    "JSONRPC unknown-member: .*got -32602",
    "HTTP+JSON extended-card: .*got METHOD_NOT_FOUND",
    "HTTP+JSON error-status: there is no error in HTTP 404",
    "HTTP+JSON error-details: there is no error",
  ],
  "@a2a-js/sdk 1.3": [
    "card card: /skills is empty",
    ...everywhere("empty-message: the call succeeded"),
    "JSONRPC no-request: .*got -32602",
    "JSONRPC wrong-params: .*got -32001",
  ],
  "a2a-sdk 1.3 (Python)": ["card cache: there is no Cache-Control", "GRPC unknown-version: .*got TASK_NOT_FOUND"],
  "a2a-go 2.3": [
    "card cache: there is no Cache-Control",
    "card etag: there is no ETag",
    ...everywhere(
      "unknown-version: .*got TASK_NOT_FOUND",
      "finished-task: .*got INVALID_PARAMS",
      "extended-card: .*got EXTENDED_AGENT_CARD_NOT_CONFIGURED",
      "subscribe-finished: .*got TASK_NOT_FOUND",
    ),
    "JSONRPC no-version: it is answered as one of 1\\.0",
    "HTTP\\+JSON no-version: it is answered as one of 1\\.0",
  ],
};

describe.each(Object.entries(all))("an agent served with %s", (name, { start }) => {
  let server: Started;

  beforeAll(async () => {
    server = await start();
    // It may print its URL before it listens.
    await (await connect(server.url)).close();
  }, 600_000);

  afterAll(() => server?.stop());

  it("is told nothing untrue by doctor", { timeout: 240_000 }, async () => {
    const { json, out } = await runIn(["doctor", server.url, "-o", "json", "--message", "echo hello"]);
    expect(json.checks, out).toBeDefined();
    const found: string[] = json.checks
      .filter(({ result }: Json) => result === "fail")
      .map(({ binding, check, detail }: Json) => `${binding || "card"} ${check}: ${detail}`);
    const known = (findings[name] ?? []).map((line) => new RegExp(`^${line.replace("HTTP+JSON", "HTTP\\+JSON")}`, "s"));
    expect(found.filter((line) => !known.some((each) => each.test(line)))).toEqual([]);
    expect(known.filter((each) => !found.some((line) => each.test(line)))).toEqual([]);
    expect(json.summary.sound).toBeGreaterThan(20);
  });

  it("answers pings over every interface", async () => {
    const { json, exit } = await runIn(["ping", server.url, "-o", "json", "--count", "2"]);
    expect(exit).toBe(0);
    expect(json.interfaces.length).toBeGreaterThan(1);
  });
});
