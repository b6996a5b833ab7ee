import { lazyImport } from "../../core/lazy.js";
import { EARLIER_CARD_PATH } from "../client-versions.js";
import type { ProtocolVersion } from "../version.js";
import { methods } from "./names.js";
import { ClientTaskNames } from "./task-names.js";

/** A2A 0.1: the tables that recognize its calls. `loaded.ts` has all other parts. */
export const v01: ProtocolVersion = {
  name: "0.1",
  interfaces: ["jsonRpc"],
  isUnnamed: true,
  methods,
  card: {
    path: EARLIER_CARD_PATH,
    isSigned: false,
    load: lazyImport(async () => (await import("./card.js")).cards),
  },
  example: { params: { id: "1", message: { role: "user", parts: [{ type: "text", text: "hello" }] } } },
  load: lazyImport(async () => (await import("./loaded.js")).loaded),
  taskNames: (maxReopens, keepsAll) => new ClientTaskNames(maxReopens, keepsAll),
  signsPush: true,
};
