import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { withFileLock } from "../../../src/cli/a2a/auth/file-lock.js";

let folder = "";
const lock = () => join(folder, "it.lock");
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "parley-lock-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Increments a number in a file, slowly enough that two concurrent increments would lose one. */
const addOne = () =>
  withFileLock(lock(), async () => {
    const file = join(folder, "count");
    const before = readdirSync(folder).includes("count") ? Number(readFileSync(file, "utf8")) : 0;
    await new Promise((resolve) => setTimeout(resolve, 1));
    writeFileSync(file, String(before + 1));
  });
const count = () => Number(readFileSync(join(folder, "count"), "utf8"));

describe("withFileLock()", () => {
  it("lets one at a time work, and leaves nothing", async () => {
    await Promise.all(Array.from({ length: 20 }, addOne));
    expect(count()).toBe(20);
    expect(readdirSync(folder)).toEqual(["count"]);
  });

  it("is released after an error", async () => {
    await expect(withFileLock(lock(), () => Promise.reject(new Error("no")))).rejects.toThrow("no");
    await addOne();
    expect(count()).toBe(1);
  });

  it("removes the lock of a process that has ended, once for many that wait", async () => {
    const { pid } = spawnSync(process.execPath, ["-e", "0"]);
    writeFileSync(lock(), `${pid} ${hostname()} x`);
    await Promise.all(Array.from({ length: 20 }, addOne));
    expect(count()).toBe(20);
    expect(readdirSync(folder)).toEqual(["count"]);
  });

  it("ends its wait when it is interrupted", async () => {
    writeFileSync(lock(), "1 another-machine x");
    const controller = new AbortController();
    const waiting = withFileLock(lock(), () => Promise.resolve(), controller.signal);
    controller.abort(new Error("interrupted"));
    await expect(waiting).rejects.toThrow("interrupted");
  });

  it("lets the process work while it waits for a lock that it cannot read", async () => {
    mkdirSync(lock());
    const waiting = withFileLock(lock(), () => Promise.resolve(), AbortSignal.timeout(100));
    await expect(waiting).rejects.toMatchObject({ name: "TimeoutError" });
  });

  it("removes the lock of another machine after its time, and not before", async () => {
    writeFileSync(lock(), "1 another-machine x");
    let isDone = false;
    const waiting = addOne().then(() => {
      isDone = true;
    });
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(isDone).toBe(false);
    const old = new Date(Date.now() - 3_600_000);
    utimesSync(lock(), old, old);
    await waiting;
    expect(count()).toBe(1);
  });
});
