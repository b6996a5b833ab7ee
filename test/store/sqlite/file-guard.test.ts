import { closeSync } from "node:fs";
import { expect, it } from "vitest";
import { FileGuard } from "../../../src/store/sqlite/file-guard.js";
import { closeFiles, openFiles } from "../../../src/store/sqlite/file-identity.js";
import { sqliteStore } from "../../../src/store/sqlite/index.js";
import { temporaryFile } from "./files.js";

it("ends a look that is under way when the files are closed", async () => {
  const path = temporaryFile();
  const store = sqliteStore(path);
  const files = openFiles(path);
  const guard = new FileGuard(files);
  const look = guard.check();
  guard.close();
  closeFiles(files);
  expect(await look).toBeUndefined();
  await store.close();
});

it("reports a log that cannot be read, and does not throw", async () => {
  const path = temporaryFile();
  const store = sqliteStore(path);
  const files = openFiles(path);
  const broken = { ...files, index: closed(), log: closed(), file: closed() };
  const guard = new FileGuard(broken);
  const fault = { lasting: false, reason: expect.stringMatching(/can no longer be checked: EBADF/) };
  expect(guard.checkNow()).toMatchObject(fault);
  expect(await guard.check()).toMatchObject(fault);
  expect(guard.logState).toBe("used");
  closeFiles(files);
  await store.close();
});

/** Number of no descriptor. */
function closed(): number {
  const fd = 1_000_000;
  expect(() => closeSync(fd)).toThrow(/EBADF/);
  return fd;
}
