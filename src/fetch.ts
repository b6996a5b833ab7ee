// Serves agents through the Fetch API, on any runtime: everything of `parley-a2a` except ports,
// handlers for Node.js requests, and gRPC. It imports only modules of Node.js that runtimes such as
// Cloudflare's workerd provide. Use it with `parley-a2a/store/memory` there.

export * from "./authors.js";
export { createFetchA2A, type FetchA2A } from "./server/create-fetch-a2a.js";
export type { Readiness } from "./server/health.js";

export type { A2AOptions } from "./server/options.js";
export type { Invocation, ServiceInterceptor } from "./service/invoke.js";
