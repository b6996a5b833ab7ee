import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { Agent } from "../../src/agent/agent.js";
import { openRequests } from "../../src/service/interceptors/request-memory.js";
import { everyBinding, titleOf } from "../auth/world.js";
import { obedient } from "../conformance/agents.js";
import { setConstantsOfFile } from "../support/constants.js";
import { as, expectLimit, gates, type LimitedWorld, leave, limited, newGate, say } from "./world.js";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const KIB = 1024;
setConstantsOfFile(openRequests, { maxBytes: 80 * KIB });

/** Messages that each need 30 KiB of memory: one for its bytes, the other for its values. */
const large = [
  ["bytes", { metadata: { text: "x".repeat(30 * KIB) } }],
  ["values", { metadata: { list: Array.from({ length: 307 }, () => 1) } }],
] as const;

describe.each(everyBinding.map((binding) => [titleOf(binding)] as const))("over %s", (title) => {
  let world: LimitedWorld;
  beforeAll(async () => {
    world = await limited(title, {});
  });
  afterAll(() => world.close());

  it.each(large)("maxOpenRequestBytes, as %s, until the execution has ended [SRV-SEC-04]", async (_of, more) => {
    const { driver } = world;
    const gate = newGate();
    const first = await driver.call("SendMessage", leave(`wait ${gate}`, more), as("alice"));
    expect(first.error).toBeUndefined();
    await gates.reached(gate);
    expectLimit(driver, await driver.call("SendMessage", say("echo", more), as("alice")), "maxOpenRequestBytes");
    // Other callers have their own share, and small messages are not counted.
    expect((await driver.call("SendMessage", say("echo", more), as("bob"))).error).toBeUndefined();
    expect((await driver.call("SendMessage", say("echo"), as("alice"))).error).toBeUndefined();
    gates.open(gate);
    const again = () => driver.call("SendMessage", say("echo", more), as("alice"));
    await expect.poll(async () => (await again()).error).toBeUndefined();
  });

  it("maxOpenRequestBytes does not refuse what is larger where nothing else is in progress", async () => {
    const more = { metadata: { text: "x".repeat(100 * KIB) } };
    for (let i = 0; i < 3; i++) {
      await expect
        .poll(async () => (await world.driver.call("SendMessage", say("echo", more), as("carol"))).error)
        .toBeUndefined();
    }
  });
});

/** Decides on messages that end with "asked" when the test opens a gate, after their client has left. */
const hesitant: Agent = obedient(
  "hesitant",
  {},
  {
    async accept({ text, signal }) {
      if (!text.endsWith("asked")) return;
      await gates.pass(`${text}: deciding`, signal);
      await gates.pass(`${text}: left`);
    },
  },
);

describe.each(everyBinding.map((binding) => [titleOf(binding)] as const))("over %s, left by its client", (title) => {
  let world: LimitedWorld;
  beforeAll(async () => {
    world = await limited(title, {}, hesitant);
  });
  afterAll(() => world.close());

  const more = { metadata: { text: "x".repeat(30 * KIB) } };

  it.each(["SendMessage", "SendStreamingMessage"])(
    "%s counts for maxOpenRequestBytes once, until the execution has ended [SRV-SEC-04]",
    async (rpc) => {
      const { driver } = world;
      const gate = `${newGate()}-asked`;
      const leaving = new AbortController();
      const options = { ...as("alice"), signal: leaving.signal };
      const request = say(`wait ${gate}`, more);
      const left =
        rpc === "SendMessage" ? driver.call(rpc, request, options) : driver.stream(rpc, request, options).next();
      const isLeft = left.then(
        () => {},
        () => {},
      );
      await gates.reached(`wait ${gate}: deciding`);
      leaving.abort();
      await Promise.all([isLeft, gates.reached(`wait ${gate}: left`)]);
      // The call ends in the round in which the agent learns that its client has left.
      await new Promise(setImmediate);
      gates.open(`wait ${gate}: left`);
      await gates.reached(gate);

      const echo = (owner: string) => driver.call("SendMessage", say("echo", more), as(owner));
      expectLimit(driver, await echo("alice"), "maxOpenRequestBytes");
      gates.open(gate);
      await expect.poll(async () => (await echo("alice")).error).toBeUndefined();

      const last = newGate();
      for (const owner of ["bob", "carol"]) {
        const held = () => driver.call("SendMessage", leave(`wait ${last}`, more), as(owner));
        await expect.poll(async () => (await held()).error).toBeUndefined();
      }
      expectLimit(driver, await echo("dave"), "maxOpenRequestBytes");
      gates.open(last);
      await expect.poll(async () => (await echo("dave")).error).toBeUndefined();
    },
  );
});
