// Calls agents from browsers, workers, edge runtimes and other platforms with fetch. Needs nothing of Node.js.
export * from "./common.js";

import { type Connect, connectWith } from "./connect.js";
import { type CreateTransport, createTransportWith } from "./raw.js";
import { webPlatform } from "./web/platform.js";

/** Creates a transport of one binding over fetch, for `createClient(A2AService, …)` of Connect. */
export const createTransport: CreateTransport = /* @__PURE__ */ createTransportWith(webPlatform);

/**
 * Finds an agent and returns a client for it.
 *
 * @param agent the URL of the agent or of its card, the card, or its JSON
 */
export const connect: Connect = /* @__PURE__ */ connectWith(webPlatform);
