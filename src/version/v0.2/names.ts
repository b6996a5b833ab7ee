import { methods as later } from "../v0.3/names.js";

/** The methods of 0.3 except for the extended card, which has its own path. Some came with a patch of 0.2. */
const { "agent/getAuthenticatedExtendedCard": _, ...earlier } = later;
export const methods: Readonly<Record<string, string>> = earlier;

/** Path next to the JSON-RPC endpoint. */
export const EXTENDED_CARD_PATH = "/agent/authenticatedExtendedCard";
