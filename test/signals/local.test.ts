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
