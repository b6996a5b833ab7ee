import { describe, expect, it } from "vitest";
import { localSignals, SignalHub } from "../../src/signals/hub.js";
import { signalCases } from "./cases.js";
import { Wire } from "./wire.js";

signalCases(
  "the memory of one process",
  async () => {
    const signals = localSignals();
    // The first of two engines closes them.
    return { one: { join: (name) => signals.join(name), close: async () => {} }, two: signals };
  },
  { hasStrangers: false, canBeCut: false },
);

signalCases(
  "a carrier",
  async () => {
    const wire = new Wire();
    return {
      one: new SignalHub(wire.carrier()),
      two: new SignalHub(wire.carrier()),
      stranger: async (text) => wire.carry(text),
    };
  },
  { canBeCut: false },
);

describe("SignalHub", () => {
  it("ignores a text that is longer than any member sends", async () => {
    const wire = new Wire();
    const hub = new SignalHub(wire.carrier());
    const heard: string[] = [];
    hub.join("a").onChanged((ids) => heard.push(...ids));
    for (const length of [100_000, 100]) wire.carry(JSON.stringify(["p1", "c", "x", "t".repeat(length)]));
    await expect.poll(() => heard).toEqual(["t".repeat(100)]);
    await hub.close();
  });
});
