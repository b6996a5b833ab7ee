// The package's own entry loads its Fetch API, caches and mocks, ten times as much, and replaces the dispatcher of the Fetch API
// that Node.js has. These are the three files of it that sending needs; they have no types beside them.

declare module "undici/lib/dispatcher/agent.js" {
  import type { Agent } from "undici";

  const agent: typeof Agent;
  export default agent;
}

declare module "undici/lib/dispatcher/pool.js" {
  import type { Pool } from "undici";

  const pool: typeof Pool;
  export default pool;
}

declare module "undici/lib/core/connect.js" {
  import type { buildConnector } from "undici";

  const connector: typeof buildConnector;
  export default connector;
}
