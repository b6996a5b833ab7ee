import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { connect } from "../../src/client/index.js";
import { type Json, runIn } from "../cli/a2a/world.js";
import { findings } from "./support/findings.js";
import { allServers, type Started } from "./support/servers.js";

describe.each(Object.entries(allServers))("an agent served with %s", (name, start) => {
  let server: Started;

  beforeAll(async () => {
    server = await start();
    // The server may print its URL before it listens.
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
