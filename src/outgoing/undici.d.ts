// The package's own entry loads its Fetch API, caches and mocks, ten times as much, and replaces the dispatcher of the Fetch API
// that Node.js has. These are the two files of it that sending needs; they have no types beside them.

declare module "undici/lib/dispatcher/client.js" {
  import type { Client } from "undici";

  const client: typeof Client;
  export default client;
}

declare module "undici/lib/core/connect.js" {
  import type { buildConnector } from "undici";

  const connector: typeof buildConnector;
  export default connector;
}
