import type { JsonObject } from "@bufbuild/protobuf";
import { afterEach, describe, expect, it } from "vitest";
import { PostgresServer, programs } from "../store/postgres/server.js";
import { Switch } from "../store/postgres/switch.js";
import type { Driver } from "../support/driver.js";
import { bindings } from "../support/drivers.js";
import { Home } from "./support/server-process.js";
import { logOf, resuming, say, settled, stateOf } from "./support/story.js";

const bin = programs() ?? "";
const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

describe.skipIf(bin === "")("two servers whose primary is killed under load", { timeout: 180_000 }, () => {
  for (const isSync of [true, false]) {
    it(isSync ? "lose nothing that was acknowledged: synchronous" : "leave no gap: asynchronous", async () => {
      const primary = new PostgresServer(bin, isSync ? { synchronous_standby_names: "standby" } : {});
      ends.push(() => primary.end());
      const standby = new PostgresServer(bin, {}, primary);
      ends.push(() => standby.end());
      const way = await Switch.to(primary);
      ends.push(() => way.close());
      const drivers: Driver[] = [];
      for (let count = 0; count < 2; count++) {
        const home = new Home("--lease", "2s");
        home.store = way.url;
        ends.push(() => home.leave());
        const driver = bindings[0]?.connect(await home.start()) as Driver;
        ends.push(() => driver.close());
        drivers.push(driver);
      }

      const acknowledged: string[] = [];
      let isOver = false;
      const send = async (driver: Driver): Promise<void> => {
        while (!isOver) {
          const { message } = await driver.call("SendMessage", say("echo hello"), resuming());
          const task = message?.task as JsonObject | undefined;
          if (task !== undefined && stateOf(task) === "TASK_STATE_COMPLETED") acknowledged.push(String(task.id));
          else await new Promise((resolve) => setTimeout(resolve, 50));
        }
      };
      const load = drivers.flatMap((driver) => [send(driver), send(driver), send(driver)]);
      await expect.poll(() => acknowledged.length, { timeout: 20_000 }).toBeGreaterThan(100);
      primary.kill();
      standby.promote();
      way.turn(standby);
      const before = acknowledged.length;
      await expect.poll(() => acknowledged.length, { timeout: 40_000 }).toBeGreaterThan(before + 50);
      isOver = true;
      await Promise.all(load);

      expect(new Set(acknowledged).size).toBe(acknowledged.length);
      const stored = new Set(
        (await standby.query("SELECT task_id FROM parley.task")).map((row) => (row as [string])[0]),
      );
      const lost = acknowledged.filter((id) => !stored.has(id));
      if (isSync) expect(lost).toEqual([]);
      // The new primary has the tasks that it acknowledged.
      expect(lost.filter((id) => acknowledged.slice(-40).includes(id))).toEqual([]);
      const [one] = drivers as [Driver];
      for (const id of [...stored].slice(-20)) {
        const task = await settled(one, id);
        expect(["TASK_STATE_COMPLETED", "TASK_STATE_FAILED"]).toContain(stateOf(task));
        const generations = [...(await logOf(one, id)).events.keys()];
        expect(generations).toEqual(generations.map((_, index) => index + 2));
      }
    });
  }
});
