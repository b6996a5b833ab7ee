import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { afterEach, describe, expect, it } from "vitest";
import { type A2A, type AuditRecord, createA2A, type Readiness } from "../../src/index.js";
import { sqliteStore } from "../../src/store/sqlite/index.js";
import { obedient } from "../conformance/agents.js";
import { temporaryFile } from "../store/sqlite/files.js";

const open: A2A[] = [];

afterEach(async () => {
  // A store whose file is gone cannot be closed in full.
  for (const a2a of open.splice(0)) await a2a.close({ graceMs: 0 }).catch(() => {});
});

function embed(path: string, limits: object = {}): { a2a: A2A; heard: Readiness[] } {
  const a2a = createA2A({ agent: obedient("embedded"), store: sqliteStore(path), limits });
  open.push(a2a);
  const heard: Readiness[] = [];
  a2a.onReadiness((readiness) => heard.push(readiness));
  return { a2a, heard };
}

describe("the health of an embedded handler", () => {
  it("goes from starting to ready, and from ready to draining", async () => {
    const { a2a, heard } = embed(temporaryFile());
    expect(a2a.readiness).toBe("starting");
    await a2a.start();
    expect(a2a.readiness).toBe("ready");
    await a2a.close();
    expect([a2a.readiness, heard]).toEqual(["draining", ["ready", "draining"]]);
  });

  it("stops telling a listener that was taken away", async () => {
    const { a2a } = embed(temporaryFile());
    const heard: Readiness[] = [];
    a2a.onReadiness((readiness) => heard.push(readiness))();
    await a2a.start();
    expect(heard).toEqual([]);
  });

  it("is unavailable once the store's file is gone, and then says that the store has to be opened anew", async () => {
    const path = temporaryFile();
    const { a2a, heard } = embed(path, { storeRecoveryMs: 3_000 });
    await a2a.start();
    let failure: Error | undefined;
    a2a.failureSignal.addEventListener("abort", () => {
      failure = a2a.failureSignal.reason;
    });
    renameSync(path, `${path}.elsewhere`);
    await expect.poll(() => a2a.readiness, { timeout: 20_000 }).toBe("unavailable");
    expect(heard).toEqual(["ready", "unavailable"]);
    await expect.poll(() => failure?.message, { timeout: 20_000 }).toContain(path);
  });

  it("ends as a failure in the audit log after its file was overwritten", async () => {
    const [path, other] = [temporaryFile(), temporaryFile()];
    await sqliteStore(other).close();
    const records: AuditRecord[] = [];
    const audit = { write: (record: AuditRecord) => void records.push(record) };
    const store = sqliteStore(path);
    const a2a = createA2A({ agent: obedient("embedded"), store, audit, limits: { storeRecoveryMs: 1 } });
    open.push(a2a);
    await a2a.start();
    writeFileSync(path, readFileSync(other));
    await expect.poll(() => a2a.failureSignal.aborted, { timeout: 20_000 }).toBe(true);
    await a2a.close({ graceMs: 0 });
    expect(records.map(({ event, outcome }) => [event, outcome])).toEqual([
      ["server.started", "success"],
      ["server.stopped", "failure"],
    ]);
  });

  it("is ready again when the file is back in time, and no failure is reported", async () => {
    const path = temporaryFile();
    const { a2a, heard } = embed(path, { storeRecoveryMs: 600_000 });
    await a2a.start();
    let isFailed = false;
    a2a.failureSignal.addEventListener("abort", () => {
      isFailed = true;
    });
    renameSync(path, `${path}.elsewhere`);
    await expect.poll(() => a2a.readiness, { timeout: 20_000 }).toBe("unavailable");
    renameSync(`${path}.elsewhere`, path);
    await expect.poll(() => a2a.readiness, { timeout: 20_000 }).toBe("ready");
    expect([heard, isFailed]).toEqual([["ready", "unavailable", "ready"], false]);
  });
});
