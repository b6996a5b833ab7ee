// `parley-a2a/fetch`: agents in a runtime other than Node.js, such as Cloudflare's workerd. It has everything of `parley-a2a`
// except ports, handlers for Node's requests and gRPC, and imports only modules of Node.js that such runtimes offer. Tasks are
// kept in `parley-a2a/store/memory` there.
export * from "./authors.js";
export { createA2A, type FetchA2A } from "./server/create-fetch-a2a.js";
export type { Readiness } from "./server/health.js";

export type { A2AOptions } from "./server/options.js";
export type { Interceptor, Invocation } from "./service/invoke.js";
