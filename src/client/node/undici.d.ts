// Files of undici that its users elsewhere do not need (`push/target/undici.d.ts` has the others, and the reason).

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
