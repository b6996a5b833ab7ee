import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { openRequests } from "../../src/service/interceptors/request-memory.js";
import { everyBinding, titleOf } from "../auth/world.js";
import { setConstantsOfFile } from "../support/constants.js";
import { as, expectLimit, gates, type LimitedWorld, leave, limited, newGate, say } from "./world.js";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const KIB = 1024;
setConstantsOfFile(openRequests, { maxBytes: 80 * KIB });

/** Each takes 30 KiB of memory: the one as bytes, the other as values. */
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
    // Others have their share, and small messages are not counted.
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
