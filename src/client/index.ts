// Calls agents, on Node.js. On other runtimes `parley-a2a/client` is `web.ts`, with the same exports.

export * from "./common.js";

import { type Connect, connectWith } from "./connect.js";
import { nodePlatform } from "./node/platform.js";
import { type CreateTransport, createTransportWith } from "./raw.js";

/** Creates a transport of one binding for `createClient(A2AService, …)` of Connect. */
export const createTransport: CreateTransport = /* @__PURE__ */ createTransportWith(nodePlatform);

/**
 * Finds an agent and returns a client for it.
 *
 * @param agent the URL of the agent or of its card, the card, or its JSON
 */
export const connect: Connect = /* @__PURE__ */ connectWith(nodePlatform);
