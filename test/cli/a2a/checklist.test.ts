import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { openWorld, runIn, type World } from "./world.js";

const transports = ["jsonrpc", "rest", "grpc"] as const;
const bindings = { jsonrpc: "JSONRPC", rest: "HTTP+JSON", grpc: "GRPC" } as const;

let world: World;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());
beforeEach(() => void world.seen.splice(0));

const agent = (transport: string) => ["-a", "AGENT", "--transport", transport, "--poll-interval", "20ms"];

describe.each(transports)("a task over %s", { timeout: 60_000 }, (transport) => {
  it("A2ACLI_TASK_GET_001 is shown with its state, artifacts and as much history as asked for", async () => {
    const sent = await world.run(["send", "parts", "-o", "json", ...agent(transport)]);
    const { id, contextId, artifacts } = sent.json.task;
    world.seen.splice(0);
    const get = async (...flags: string[]) =>
      (await world.run(["task", "get", id, "-o", "json", ...flags, ...agent(transport)])).json;
    const whole = await get("--history", "2");
    expect(whole).toMatchObject({ id, contextId, status: { state: "TASK_STATE_COMPLETED" }, artifacts });
    expect(whole.history).toMatchObject([{ parts: [{ text: "parts" }] }]);
    expect((await get("--history", "0")).history).toBeUndefined();
    const { out } = await world.run(["task", "get", id, ...agent(transport)]);
    expect(out).toMatch(new RegExp(`^Task ID: ${id}\nContext ID: ${contextId}\nState: COMPLETED\n`));
    expect(out.match(/^Artifact ID: /gm)).toHaveLength(4);
    expect(world.seen.filter(({ method }) => method === "GetTask").map(({ request }) => request.historyLength)).toEqual(
      [2, 0, undefined],
    );
  });
});

describe.each(transports)("a call over %s", { timeout: 60_000 }, (transport) => {
  const interfaces = async () => (await world.run(["card", "get", "AGENT", "-o", "json"])).json.supportedInterfaces;

  it("A2ACLI_TX_004 A2ACLI_TX_005 goes over the transport that is preferred", async () => {
    const { exit, err } = await world.run(["send", "hi", "--debug", ...agent(transport)]);
    expect(exit, err).toBe(0);
    expect(err).toContain(`debug: interface ${bindings[transport]} `);
  });

  it("A2ACLI_TX_002 takes the first preference that the card offers", async () => {
    const own = (await interfaces()).filter(
      ({ protocolBinding }: { protocolBinding: string }) => protocolBinding === bindings[transport],
    );
    const files = { "c.json": JSON.stringify({ name: "One", supportedInterfaces: own }) };
    const others = transports.filter((each) => each !== transport).flatMap((each) => ["--transport", each]);
    const { exit, err } = await runIn(
      ["send", "hi", "-a", "./c.json", "--debug", ...others, "--transport", transport],
      { files },
    );
    expect(exit, err).toBe(0);
    expect(err).toContain(`debug: interface ${bindings[transport]} `);
  });

  it("A2ACLI_OUT_007 is shown on stderr with the messages exchanged, and stdout stays the same", async () => {
    const { out, err, json } = await world.run(["send", "say hello", "-o", "json", "--debug", ...agent(transport)]);
    expect(json).toMatchObject({ message: { parts: [{ text: "hello" }] } });
    expect(out).not.toContain("debug:");
    const lines = err.trimEnd().split("\n");
    expect(lines.filter((line) => !line.startsWith("debug: "))).toEqual([]);
    expect(
      lines.filter((line) => line.includes("say hello")),
      err,
    ).not.toEqual([]);
    expect(
      lines.filter((line) => line.includes(json.message.messageId)),
      err,
    ).not.toEqual([]);
  });
});

describe("an interface of a tenant", { timeout: 60_000 }, () => {
  it.each(transports)("A2ACLI_TX_003 is sent its tenant over %s, and one without sends none", async (transport) => {
    const { json } = await world.run(["card", "get", "AGENT", "-o", "json"]);
    const own = json.supportedInterfaces.find(
      ({ protocolBinding }: { protocolBinding: string }) => protocolBinding === bindings[transport],
    );
    const sentTo = async (tenant: object) => {
      const files = { "c.json": JSON.stringify({ name: "T", supportedInterfaces: [{ ...own, ...tenant }] }) };
      const { err } = await runIn(["send", "say hi", "-a", "./c.json", "--debug", "-o", "json"], { files });
      return err;
    };
    expect(await sentTo({ tenant: "acme/one" })).toMatch(/"tenant":\s*"acme\/one"|acme%2Fone/);
    expect(await sentTo({})).not.toContain("tenant");
  });
});

describe("an agent without streams", { timeout: 60_000 }, () => {
  it.each(transports)("A2ACLI_VER_003 gets no call that its card does not declare, over %s", async (transport) => {
    const plain = await openWorld({ capabilities: { streaming: false } });
    try {
      const { json } = await plain.run(["send", "hold", "--async", "-o", "json", ...agent(transport)]);
      plain.seen.splice(0);
      plain.before = ({ method }) => {
        if (method === "GetTask") setImmediate(() => void plain.run(["task", "cancel", json.task.id, "-a", "AGENT"]));
      };
      const { exit, err } = await plain.run(["task", "subscribe", json.task.id, ...agent(transport)]);
      expect(exit, err).toBe(0);
      expect(plain.seen.map(({ method }) => method)).not.toContain("SubscribeToTask");
    } finally {
      await plain.close();
    }
  });
});

describe("the help of credentials", () => {
  it("A2ACLI_AUTH_002 names the variable of each, and who sees the flag", async () => {
    const help = (await runIn(["send", "--help"])).out.replace(/\s+/g, " ");
    for (const [flag, variable] of [
      ["--bearer", "A2ACLI_BEARER"],
      ["--api-key", "A2ACLI_API_KEY"],
      ["--auth", "A2ACLI_AUTH"],
    ]) {
      const [, about = ""] = new RegExp(`${flag} <[^>]+> (.*?env: ${variable})\\)`).exec(help) ?? [];
      expect(about).toContain("visible in the process list and shell history, unlike the variable");
    }
  });
});
