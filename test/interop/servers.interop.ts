import { setTimeout } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type A2AClient, type Binding, connect } from "../../src/client/index.js";
import { operations } from "./support/operations.js";
import { plainServers, type Started, servers } from "./support/servers.js";

const bindings = ["GRPC", "JSONRPC", "HTTP+JSON"] as const satisfies readonly Binding[];

/**
 * Known deviations of servers in the named version, with the observed behaviour: `server / binding / operation`. A
 * listed cell has to fail, and any other has to pass. A star stands for all bindings.
 */
const deviations: Readonly<Record<string, string>> = {
  ...javaDeviations(),
  "a2a-go 2.3 / * / a message to a task that is over":
    "it says INVALID_PARAMS (specification 3.1.1: UnsupportedOperationError)",
};

/**
 * Deviations of a server that follows a draft of 1.0. A send only waits with a member `blocking`, and
 * `returnImmediately` is refused as unknown.
 */
function javaDeviations(): Record<string, string> {
  const unasked = "it does not wait for the task";
  const cells = {
    "* / a question and its answer": unasked,
    "* / a conversation": unasked,
    "* / reads of a task": `${unasked}, and its task has no history`,
    "* / a message to a task that is over": "it gives the message to the agent, also when the task is over",
    "* / a cancel that a follower sees": "it refuses `returnImmediately`",
    "* / a task that is followed to its end": "it refuses `returnImmediately`",
    "JSONRPC / push notifications that are not supported":
      "it refuses a configuration with a `url` that is not in an object",
  };
  return Object.fromEntries(Object.entries(cells).map(([cell, why]) => [`a2a-java-sdk 1.0.0.Alpha3 / ${cell}`, why]));
}

const all = {
  ...plainServers,
  ...Object.fromEntries(Object.entries(servers).map(([name, start]) => [name, { bindings, start: () => start() }])),
};

describe.each(Object.entries(all))("an agent served with %s", (name, { bindings, start }) => {
  let server: Started;

  beforeAll(async () => {
    server = await start();
  }, 600_000);

  afterAll(() => server?.stop());

  describe.each(bindings)("over %s", (binding) => {
    let client: A2AClient;

    beforeAll(async () => {
      client = await connect(server.url, { bindings: [binding], card: { cache: false } });
    });

    afterAll(() => client?.close());

    it.each(Object.keys(operations))("gives our client %s", async (operation) => {
      const run = (operations[operation] as (client: A2AClient) => Promise<void>)(client);
      const known = deviations[`${name} / ${binding} / ${operation}`] ?? deviations[`${name} / * / ${operation}`];
      if (known === undefined) return run;
      // The client follows a task for as long as a send may take. A server that never ends the task has failed as well.
      const ended = Promise.race([run, setTimeout(4_000).then(() => Promise.reject(new Error("it does not end")))]);
      await expect(ended, `${name} has mended it: ${known}`).rejects.toThrow();
    });
  });
});
