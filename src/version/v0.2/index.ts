import { lazyImport } from "../../core/lazy.js";
import { EARLIER_CARD_PATH } from "../client-versions.js";
import { example } from "../v0.3/names.js";
import type { ProtocolVersion } from "../version.js";
import { EXTENDED_CARD_PATH, methods } from "./names.js";

/**
 * A2A 0.2, which is 0.3 with JSON-RPC only; its clients can read the responses of 0.3. If both are served, calls
 * without a version belong to 0.3.
 */
export const v02: ProtocolVersion = {
  name: "0.2",
  interfaces: ["jsonRpc"],
  isUnnamed: true,
  methods,
  paths: [EXTENDED_CARD_PATH],
  hasCardBeside: true,
  extensionsParameter: "x-a2a-extensions",
  card: {
    path: EARLIER_CARD_PATH,
    isSigned: false,
    load: lazyImport(async () => (await import("./card.js")).cards),
  },
  example: { params: example },
  load: lazyImport(async () => (await import("./loaded.js")).loaded),
};
