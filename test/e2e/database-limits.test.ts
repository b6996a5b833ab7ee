import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { userInfo } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { JsonObject } from "@bufbuild/protobuf";
import type { Client } from "pg";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { PostgresServer, programs } from "../store/postgres/server.js";
import type { Driver } from "../support/driver.js";
import { bindings } from "../support/drivers.js";
import { Home, type ServerProcess } from "./support/server-process.js";
import { isFinal, resuming, say, stateOf, statusText, taskOf } from "./support/story.js";

const bin = programs();

const homes: Home[] = [];
afterEach(async () => {
  for (const home of homes.splice(0)) await home.leave();
});

function homeOf(database: PostgresServer): Home {
  const home = new Home("--lease", "60s", "--max-restarts", "0");
  home.store = database.url;
  homes.push(home);
  return home;
}

const ready = async ({ url }: ServerProcess): Promise<number> => (await fetch(`${url}/readyz`)).status;

/** Sends a message without waiting for its answer. @returns the id of its task, or the error */
async function begin(driver: Driver, text: string): Promise<string> {
  const request = { ...say(text), configuration: { returnImmediately: true } };
  const { message, error } = await driver.call("SendMessage", request, resuming());
  return String((message?.task as JsonObject | undefined)?.id ?? error?.reason ?? error?.status);
}

/** Waits for the end of a task, for less time than its lease. Returns its status text. */
async function endOf(driver: Driver, id: string): Promise<string> {
  const over = async (): Promise<boolean> => isFinal(stateOf(await taskOf(driver, id)));
  await expect.poll(over, { timeout: 20_000, interval: 200 }).toBe(true);
  return statusText(await taskOf(driver, id)) ?? "";
}

/** Checks the server while the database refuses, and after `mend`. */
async function expectOutage(server: ServerProcess, refuse: () => Promise<void>, mend: () => Promise<void>) {
  const driver = bindings[0]?.connect(server) as Driver;
  const kept = await begin(driver, "echo kept");
  await endOf(driver, kept);
  const before = await taskOf(driver, kept);
  const waiting = await begin(driver, "wait 6000");
  await refuse();
  await expect.poll(() => ready(server), { timeout: 10_000 }).toBe(503);
  // A full disk may still have space for a smaller message.
  const accepted: string[] = [];
  const refused = async (): Promise<string> => {
    const answer = await begin(driver, "echo refused");
    if (answer !== "UNAVAILABLE") accepted.push(answer);
    return answer;
  };
  await expect.poll(refused, { timeout: 10_000, interval: 100 }).toBe("UNAVAILABLE");
  // The waiting turn ends during the outage.
  await sleep(6_000);
  await mend();
  await expect.poll(() => ready(server), { timeout: 20_000 }).toBe(200);
  expect(await endOf(driver, waiting)).toBe("Waited for 6000 ms.");
  for (const id of accepted) {
    await endOf(driver, id);
    expect(stateOf(await taskOf(driver, id))).toBe("TASK_STATE_COMPLETED");
  }
  expect(await taskOf(driver, kept)).toEqual(before);
  const after = await begin(driver, "echo after");
  await endOf(driver, after);
  driver.close();
  expect((await server.stop()).code).toBe(0);
}

describe.skipIf(bin === undefined)("a server whose database has no connection left", { timeout: 120_000 }, () => {
  const database = bin === undefined ? (undefined as never) : new PostgresServer(bin, { max_connections: "14" });
  afterAll(() => database.end());

  it("refuses calls and a start as an outage, and recovers by itself (53300)", async () => {
    const home = homeOf(database);
    const server = await home.start();
    const taken: Client[] = [];
    const take = async (): Promise<void> => {
      const { default: driver } = await import("pg");
      for (let failures = 0; failures < 3; ) {
        const client = new driver.Client(database.url);
        client.on("error", () => {});
        await client.connect().then(
          () => taken.push(client),
          () => failures++,
        );
      }
    };
    const refuse = async (): Promise<void> => {
      await take();
      const [first] = taken;
      // A server may reconnect before the test takes the freed connections.
      const end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'parley'";
      while ((await first?.query(end))?.rowCount !== 0) await take();
      const late = homeOf(database).launch();
      expect((await late.exited).code).toBe(75);
      expect(late.log).toContain("53300");
    };
    await expectOutage(server, refuse, async () => {
      for (const client of taken) await client.end();
    });
  });
});

const isRoot = userInfo().uid === 0 && process.platform === "linux";

describe.skipIf(bin === undefined || !isRoot)("a server whose database has a full disk", { timeout: 120_000 }, () => {
  const database = bin === undefined || !isRoot ? (undefined as never) : new PostgresServer(bin);
  const small = isRoot && bin !== undefined ? join(database.folder, "small") : "";
  let isMounted = false;
  afterAll(() => {
    database.stop("immediate");
    if (isMounted) execFileSync("umount", [small]);
    database.end();
  });

  it("refuses what it cannot store as an outage, and recovers by itself (53100)", async ({ skip }) => {
    mkdirSync(small);
    try {
      execFileSync("mount", ["-t", "tmpfs", "-o", "size=6m", "tmpfs", small], { stdio: "ignore" });
    } catch {
      return skip("this process may not mount a file system");
    }
    isMounted = true;
    execFileSync("chown", ["postgres", small]);
    await database.query(`CREATE TABLESPACE small LOCATION '${small}'`);
    await database.query("ALTER DATABASE postgres SET default_tablespace = small");
    const server = await homeOf(database).start();
    const driver = bindings[0]?.connect(server) as Driver;
    const refuse = async (): Promise<void> => {
      const fill = async (): Promise<string> => begin(driver, "stream 200 50000");
      await expect.poll(fill, { timeout: 30_000, interval: 300 }).toBe("UNAVAILABLE");
    };
    await expectOutage(server, refuse, async () => {
      execFileSync("mount", ["-o", "remount,size=256m", small]);
    });
    driver.close();
  });
});
