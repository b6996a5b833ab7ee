import { copyFileSync, existsSync, renameSync, truncateSync } from "node:fs";
import type { JsonObject } from "@bufbuild/protobuf";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openDatabase } from "../support/database.js";
import type { Driver } from "../support/driver.js";
import { bindings } from "../support/drivers.js";
import { expectSoundFile } from "../support/sound-file.js";
import { Home, type ServerProcess, within } from "./support/server-process.js";
import { say, stateOf } from "./support/story.js";

let home: Home;
let server: ServerProcess;
let drivers: Driver[];

async function start(): Promise<void> {
  server = await home.start("--store-recovery", "200ms");
  drivers = bindings.map((binding) => binding.connect(server));
}

function disconnect(): void {
  for (const driver of drivers.splice(0)) driver.close();
}

beforeEach(() => {
  home = new Home();
  drivers = [];
});

afterEach(async () => {
  disconnect();
  await home.leave();
});

/** Sends ten messages over each binding. Returns the acknowledged tasks. */
async function sendMany(): Promise<string[]> {
  const sends = drivers.flatMap((driver) =>
    Array.from({ length: 10 }, async (_, index) => {
      const { message } = await driver.call("SendMessage", say(`echo ${index}`, { contextId: driver.name }));
      const task = message?.task as JsonObject | undefined;
      return task === undefined ? [] : [task.id as string];
    }),
  );
  const outcomes = await Promise.allSettled(sends);
  return outcomes.flatMap((outcome) => (outcome.status === "fulfilled" ? outcome.value : []));
}

async function isThere(id: string): Promise<boolean> {
  const [driver] = drivers as [Driver];
  const { message } = await driver.call("GetTask", { id });
  return message !== undefined && stateOf(message) === "TASK_STATE_COMPLETED";
}

const faults: Record<string, (path: string, copy: string) => void> = {
  "a copy is moved over it": (path, copy) => renameSync(copy, path),
  "a copy is copied over it": (path, copy) => copyFileSync(copy, path),
  "its log is cut": (path) => truncateSync(`${path}-wal`, 0),
};

describe("a server whose file is changed under it", { timeout: 120_000 }, () => {
  for (const [what, change] of Object.entries(faults)) {
    it.each(["ends by itself", "is killed"])(`acknowledges nothing that is lost: ${what}, and it %s`, async (end) => {
      await start();
      const kept = await sendMany();
      expect(kept).toHaveLength(10 * bindings.length);
      const copy = `${home.store}-copy`;
      const db = openDatabase(home.store);
      db.exec(`VACUUM INTO '${copy}'`);
      // The checkpoint moves the acknowledged tasks out of the log that is cut.
      db.pragma("wal_checkpoint(PASSIVE)");
      db.close();
      change(home.store, copy);
      // Sends fail from this moment on.
      expect(await sendMany()).toEqual([]);
      if (end === "is killed") await server.kill();
      else expect(await within(60_000, server.exited, () => server.log)).toEqual({ code: 75, signal: null });
      disconnect();
      await start();
      const after = await sendMany();
      expect(after).toHaveLength(10 * bindings.length);
      for (const id of [...kept, ...after]) expect(await isThere(id), id).toBe(true);
      expect(await server.stop()).toEqual({ code: 0, signal: null });
      expect(existsSync(`${home.store}-wal`)).toBe(false);
      expectSoundFile(home.store);
    });
  }
});
