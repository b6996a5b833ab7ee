// For those who call agents, on Node.js. Elsewhere `parley-a2a/client` is `web.ts`, which has the same names.
export * from "./common.js";

import { type Connect, connectWith } from "./connect.js";
import { nodePlatform } from "./node/platform.js";
import { type CreateTransport, createTransportWith } from "./raw.js";

/** A transport of one of the five bindings, for `createClient(A2AService, …)` of Connect. */
export const createTransport: CreateTransport = /* @__PURE__ */ createTransportWith(nodePlatform);

/**
 * Finds an agent and gives a client for it.
 *
 * @param agent the URL of the agent or of its card, the card, or its JSON
 */
export const connect: Connect = /* @__PURE__ */ connectWith(nodePlatform);
