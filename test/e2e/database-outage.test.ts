import type { JsonObject } from "@bufbuild/protobuf";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { PostgresServer, programs } from "../store/postgres/server.js";
import type { Driver } from "../support/driver.js";
import { bindings } from "../support/drivers.js";
import { Home, type ServerProcess } from "./support/server-process.js";
import { logOf, resuming, say, settled, stateOf } from "./support/story.js";

const bin = programs();

describe.skipIf(bin === undefined)("a server whose database is killed and started again", { timeout: 120_000 }, () => {
  const database = bin === undefined ? (undefined as never) : new PostgresServer(bin);
  const homes: Home[] = [];
  afterEach(async () => {
    for (const home of homes.splice(0)) await home.leave();
  });
  afterAll(() => database.end());

  const serve = async (): Promise<{ server: ServerProcess; driver: Driver }> => {
    const home = new Home("--lease", "2s");
    homes.push(home);
    home.store = `${database.url}&schema=outage`;
    const server = await home.start();
    return { server, driver: bindings[0]?.connect(server) as Driver };
  };

  it("says that it is not ready, keeps what it acknowledged, and goes on by itself", async () => {
    const { server, driver } = await serve();
    const begin = async (text: string): Promise<string | undefined> => {
      const request = { ...say(text), configuration: { returnImmediately: true } };
      const { message } = await driver.call("SendMessage", request, resuming());
      return (message?.task as JsonObject | undefined)?.id as string | undefined;
    };
    const ready = async (): Promise<number> => (await fetch(`${server.url}/readyz`)).status;
    const before = await begin("echo before");
    expect(stateOf(await settled(driver, before ?? ""))).toBe("TASK_STATE_COMPLETED");
    const streaming = await begin("stream 400 16 10");
    await new Promise((resolve) => setTimeout(resolve, 800));
    database.stop("immediate");
    await expect.poll(ready, { timeout: 10_000 }).toBe(503);
    expect(await begin("echo during")).toBeUndefined();
    database.start();
    await expect.poll(ready, { timeout: 20_000 }).toBe(200);
    const after = await begin("echo after");
    expect(stateOf(await settled(driver, after ?? ""))).toBe("TASK_STATE_COMPLETED");
    // The turn that lost its log ends, one way or the other, without a gap after its creation.
    const ended = await settled(driver, streaming ?? "");
    expect(["TASK_STATE_COMPLETED", "TASK_STATE_FAILED"]).toContain(stateOf(ended));
    const generations = [...(await logOf(driver, streaming ?? "")).events.keys()];
    expect(generations).toEqual(generations.map((_, index) => index + 2));
    expect((await server.stop()).code).toBe(0);
    driver.close();
  });
});
