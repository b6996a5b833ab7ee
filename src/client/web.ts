// For those who call agents from browsers, workers, edge runtimes and whatever else has fetch: nothing of Node.js is needed.
export * from "./common.js";

import { type CreateTransport, createTransportWith } from "./raw.js";
import { webPlatform } from "./web/platform.js";

/** A transport of one of the bindings over fetch, for `createClient(A2AService, …)` of Connect. */
export const createTransport: CreateTransport = createTransportWith(webPlatform);
