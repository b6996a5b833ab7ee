import { once } from "node:events";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { A2AService } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { ready, watch } from "../cli/cli.js";
import { Clone, firstCommand, signalAll } from "./clone.js";
import { isAsked, supported } from "./versions.js";

/** Tests of the parts that depend on the Node.js version: connections, files, threads, processes and modules. */
const core = [
  "test/conformance",
  "test/engine",
  "test/binding",
  "test/http",
  "test/fetch.test.ts",
  "test/fastify.test.ts",
  "test/server",
  "test/agent",
  "test/cli",
  "test/store/memory",
  "test/store/sqlite",
  "test/e2e/restart.test.ts",
  "test/e2e/reuse-port.test.ts",
];

/** The least of these: a few files for each, which take a minute together. */
const few = [
  "test/conformance/tasks.test.ts",
  "test/conformance/streams.test.ts",
  "test/binding/connect/binding.test.ts",
  "test/binding/grpc/stream.test.ts",
  "test/binding/rest/stream.test.ts",
  "test/client/connect.test.ts",
  "test/fetch.test.ts",
  "test/fastify.test.ts",
  "test/server/create-server.test.ts",
  // Ports are shared from Node.js 22.12 on.
  "test/server/draining.test.ts",
  "test/cli/requirements.test.ts",
  // Node.js 20 has another driver, and runs these in all other tests.
  "test/store/sqlite/contract.test.ts",
  "test/e2e/kill-loop.test.ts",
  "test/store/sqlite/commit.test.ts",
  "test/store/sqlite/crash.test.ts",
  "test/store/sqlite/driver",
  "test/store/sqlite/open.test.ts",
  "test/store/sqlite/shared.test.ts",
  "test/e2e/restart.test.ts",
  "test/e2e/reuse-port.test.ts",
];

/** `PARLEY_NODES_TESTS=few` takes the least. */
const paths = process.env.PARLEY_NODES_TESTS === "few" ? few : core;

/** Warnings of npm about the machine's own settings. */
const ofTheMachine = /Unknown (user|global|builtin|env|cli) config/;

const json = { "content-type": "application/json" };
const say = (text: string) => ({ messageId: text, role: "ROLE_USER", parts: [{ text }] });

/** Failures as Vitest tells them after its tests, or the last lines of what it printed. */
function endOf(output: string): string {
  const at = output.search(/⎯ (Failed|Unhandled) /);
  return at < 0 ? output.slice(-4_000) : output.slice(at);
}

describe.each(supported)("Node.js $node with npm $npm", (version) => {
  const asked = isAsked(version.node);

  let clone: Clone;
  let isInstalled = false;
  beforeAll(() => {
    if (asked) clone = new Clone(version);
  });
  afterAll(() => clone?.remove());

  it.runIf(asked)(
    "has a server by the first command of the README, without a warning, and Ctrl-C ends it",
    async () => {
      const begin = performance.now();
      const run = watch(clone.run(firstCommand(), { PARLEY_PORT: "0", PARLEY_GRPC_PORT: "0" }));
      const { url, grpcAddress } = await ready(run);
      isInstalled = true;
      const card = await fetch(`${url}/.well-known/agent-card.json`);
      expect(await card.json()).toMatchObject({ name: expect.any(String), supportedInterfaces: expect.any(Array) });
      const seconds = (performance.now() - begin) / 1_000;
      process.stdout.write(`Node.js ${version.node}: first card ${seconds.toFixed(1)} s after a fresh clone\n`);

      const call = { jsonrpc: "2.0", id: 1, method: "SendMessage", params: { message: say("say over JSON-RPC") } };
      const answer = await fetch(url, { method: "POST", headers: json, body: JSON.stringify(call) });
      expect(await answer.json()).toMatchObject({ result: { message: { parts: [{ text: "over JSON-RPC" }] } } });

      const transport = createGrpcTransport({ baseUrl: `http://${grpcAddress}` });
      const { payload } = await createClient(A2AService, transport).sendMessage({
        message: { messageId: "2", role: 1, parts: [{ content: { case: "text", value: "echo over gRPC" } }] },
      });
      expect(payload).toMatchObject({ case: "task", value: { status: { state: 3 } } });

      signalAll(run.child, "SIGINT");
      await run.exited;
      await expect(fetch(url)).rejects.toThrow("fetch failed");
      const warnings = `${run.stdout()}${run.stderr()}`.split("\n").filter((line) => /\bwarn/i.test(line));
      expect(warnings.filter((line) => !ofTheMachine.test(line))).toEqual([]);
    },
    600_000,
  );

  it.runIf(asked)(
    paths === few ? "passes the least of the tests" : "passes the core of the tests",
    async ({ skip }) => {
      skip(!isInstalled, "it is not installed");
      const options = "--reporter=dot --testTimeout=60000 --maxWorkers=2";
      const child = clone.run(`node node_modules/vitest/vitest.mjs run ${paths.join(" ")} ${options}`, {
        NO_COLOR: "1",
      });
      let output = "";
      for (const stream of [child.stdout, child.stderr]) stream?.on("data", (chunk) => (output += String(chunk)));
      const [status] = await once(child, "close");
      expect(status, endOf(output)).toBe(0);
      process.stdout.write(`Node.js ${version.node}: ${output.slice(output.lastIndexOf(" Test Files"))}`);
    },
    1_200_000,
  );
});
