// For those who call agents, on Node.js. Elsewhere `parley-a2a/client` is `web.ts`, which has the same names.
export * from "./common.js";

import { nodePlatform } from "./node/platform.js";
import { type CreateTransport, createTransportWith } from "./raw.js";

/** A transport of one of the five bindings, for `createClient(A2AService, …)` of Connect. */
export const createTransport: CreateTransport = createTransportWith(nodePlatform);
