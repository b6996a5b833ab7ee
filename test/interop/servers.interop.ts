import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type A2AClient, type Binding, connect } from "../../src/client/index.js";
import { operations } from "./support/operations.js";
import { type Started, servers } from "./support/servers.js";

const bindings = ["GRPC", "JSONRPC", "HTTP+JSON"] as const satisfies readonly Binding[];

/**
 * What a server does otherwise, as of the version that is named: `server / binding / operation`, and what is seen instead. A cell that
 * stands here has to fail; one that does not, has to pass. A star stands for all bindings.
 */
const deviations: Readonly<Record<string, string>> = {
  "a2a-go 2.3 / * / a message to a task that is over":
    "it says INVALID_PARAMS (specification 3.1.1: UnsupportedOperationError)",
};

describe.each(Object.keys(servers))("an agent served with %s", (name) => {
  let server: Started;

  beforeAll(async () => {
    server = await (servers[name] as (typeof servers)[string])();
  }, 300_000);

  afterAll(() => server?.stop());

  describe.each(bindings)("over %s", (binding) => {
    let client: A2AClient;

    beforeAll(async () => {
      client = await connect(server.url, { bindings: [binding] });
    });

    afterAll(() => client?.close());

    it.each(Object.keys(operations))("gives our client %s", async (operation) => {
      const run = (operations[operation] as (client: A2AClient) => Promise<void>)(client);
      const known = deviations[`${name} / ${binding} / ${operation}`] ?? deviations[`${name} / * / ${operation}`];
      if (known === undefined) return run;
      await expect(run, `${name} has mended it: ${known}`).rejects.toThrow();
    });
  });
});
