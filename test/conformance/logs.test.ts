import { inspect } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Logger } from "../../src/core/log.js";
import { memoryStore } from "../../src/store/memory/index.js";
import type { Driver } from "../support/driver.js";
import { bindings } from "../support/drivers.js";
import { everyOperation, isStreaming } from "./case.js";
import { setups } from "./setups.js";
import { serve } from "./worlds.js";

describe.each(bindings.map((binding) => [binding.name, binding] as const))("the log over %s", (_name, binding) => {
  const lines: string[] = [];
  let driver: Driver;
  let close = async (): Promise<void> => {};

  beforeAll(async () => {
    const note = (facts: object, message: string): void => void lines.push(inspect(facts) + message);
    const logger: Logger = { debug: note, info: note, warn: note, error: note };
    const { server, address } = await serve({ ...setups.owners, logger }, memoryStore());
    driver = binding.connect(address);
    close = async () => {
      driver.close();
      await server.close();
    };
  });
  afterAll(() => close());

  it("has no credentials in it, whatever goes wrong [SRV-SEC-10 SRV-SEC-14]", async () => {
    for (const token of ["alice:topsecret", "mallory-topsecret"]) {
      for (const [rpc, request] of everyOperation) {
        const options = { headers: { Authorization: `Bearer ${token}`, "Parley-If-Generation": "x" } };
        if (isStreaming(rpc)) await driver.stream(rpc, request, options).rest();
        else await driver.call(rpc, request, options);
      }
    }
    expect(lines.join("\n")).not.toContain("topsecret");
  });

  it("has the reason of a failure that nobody was told of [SRV-ERR-15]", async () => {
    const request = { message: { messageId: "m", role: "ROLE_USER", parts: [{ text: "crash" }] } };
    const { message } = await driver.call("SendMessage", request, { headers: { Authorization: "Bearer alice" } });
    const [, reference = "?"] = /Reference: ([\w-]+)/.exec(JSON.stringify(message)) ?? [];
    expect(lines.filter((line) => line.includes(reference) && line.includes("hunter2"))).toHaveLength(1);
  });
});
