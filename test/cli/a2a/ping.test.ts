import { afterEach, describe, expect, it } from "vitest";
import { httpBearerScheme } from "../../../src/auth/index.js";
import { type Json, openWorld, runIn, type World } from "./world.js";

let world: World | undefined;
afterEach(() => world?.close());

describe("ping", { timeout: 30_000 }, () => {
  it("calls every interface in its own version, and begins no task", async () => {
    world = await openWorld();
    const { exit, out } = await world.run(["ping", "AGENT", "--count", "3", "--interval", "0s"]);
    expect(exit).toBe(0);
    const [card, ...lines] = out.trimEnd().split("\n");
    expect(card).toMatch(/^Card: [\d.]+ ms, http:.*agent-card\.json$/);
    expect(lines.map((line) => line.split(":")[0])).toEqual([
      "GRPC 1.0",
      "JSONRPC 1.0",
      "HTTP+JSON 1.0",
      "CONNECT 1.0",
      "GRPC 0.3",
      "JSONRPC 0.3",
      "HTTP+JSON 0.3",
      "JSONRPC 0.2",
      "JSONRPC 0.1",
    ]);
    for (const line of lines)
      expect(line).toMatch(/: 3 of 3 answered, first [\d.]+ ms, then [\d.]+\/[\d.]+\/[\d.]+ ms \(/);
    expect(world.seen.map(({ method }) => method)).toEqual(Array(27).fill("GetTask"));
    const { json } = await world.run(["task", "list", "-a", "AGENT", "-o", "json"]);
    expect(json.tasks).toEqual([]);
  });

  it("gives latencies in milliseconds as JSON", async () => {
    world = await openWorld();
    const { json } = await world.run(["ping", "AGENT", "--count", "2", "--interval", "0s", "-o", "json"]);
    expect(json).toMatchObject({
      agent: "Probe",
      card: expect.stringContaining("/.well-known/"),
      cardMs: expect.any(Number),
    });
    expect(json.interfaces[0]).toMatchObject({ binding: "GRPC", version: "1.0", calls: 2, answered: 2, error: null });
    for (const { firstMs, minMs, medianMs, maxMs } of json.interfaces) {
      expect(firstMs).toBeGreaterThan(0);
      expect(minMs).toBeLessThanOrEqual(medianMs);
      expect(medianMs).toBeLessThanOrEqual(maxMs);
    }
  });

  it("takes the refusal of a guarded agent for an answer", async () => {
    const bearer = httpBearerScheme({ check: () => undefined });
    world = await openWorld({ agent: { security: { schemes: { bearer } } } });
    const { exit, json } = await world.run(["ping", "AGENT", "--count", "1", "--bearer", "x", "-o", "json"]);
    expect(exit).toBe(0);
    expect(new Set(json.interfaces.map(({ answered }: Json) => answered))).toEqual(new Set([1]));
  });

  it("ends with 1 if an interface does not answer, and with 3 if none does", async () => {
    world = await openWorld();
    const { json: card } = await world.run(["card", "get", "AGENT", "-o", "json"]);
    const dead = { url: "http://127.0.0.1:9/", protocolBinding: "JSONRPC", protocolVersion: "1.0" };
    const live = card.supportedInterfaces.find(({ protocolBinding }: Json) => protocolBinding === "HTTP+JSON");
    const strange = { url: "http://127.0.0.1:9/", protocolBinding: "urn:x:pigeon", protocolVersion: "1.0" };
    const files = {
      "some.json": JSON.stringify({ ...card, supportedInterfaces: [dead, live, strange] }),
      "none.json": JSON.stringify({ ...card, supportedInterfaces: [dead] }),
    };
    const some = await runIn(["ping", "./some.json", "--count", "1"], { files });
    expect(some.exit).toBe(1);
    expect(some.out).toMatch(/^JSONRPC 1\.0: 0 of 1 answered, UNAVAILABLE: .* the connection was refused/m);
    expect(some.out).toMatch(/^HTTP\+JSON 1\.0: 1 of 1 answered/m);
    expect(some.out).toMatch(/^urn:x:pigeon 1\.0: 0 of 0 answered, A2A 1\.0 over urn:x:pigeon is not supported/m);
    const none = await runIn(["ping", "./none.json", "--count", "1", "-o", "json"], { files });
    expect(none.exit).toBe(3);
  });

  it.each([
    ["--count", "0"],
    ["--count", "many"],
    ["--interval", "soon"],
  ])("rejects %s %s", async (flag, value) => {
    const { exit, err } = await runIn(["ping", "127.0.0.1:9", flag, value]);
    expect(exit).toBe(2);
    expect(err).toContain(flag);
  });
});
