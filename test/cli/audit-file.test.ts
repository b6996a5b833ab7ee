import { spawnSync } from "node:child_process";
import {
  appendFileSync,
  closeSync,
  constants,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { AuditRecord } from "../../src/audit/audit.js";
import { AuditFile } from "../../src/cli/audit-file.js";

let folder: string;
let path: string;
let told: string[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "parley-audit-"));
  path = join(folder, "audit");
  told = [];
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const tell = (facts: object, message: string): void => void told.push(`${message} ${JSON.stringify(facts)}`);
const logger = { debug: tell, info: tell, warn: tell, error: tell };

const record = (n: number, target = "x"): AuditRecord => ({
  ...{ at: new Date(n).toISOString(), event: "server.started", outcome: "success", count: n, target },
});
const recordsIn = (text: string): AuditRecord[] =>
  text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));

describe("AuditFile", () => {
  it("makes a file that was removed anew: nothing is written where nobody reads it", () => {
    const file = new AuditFile(path, logger);
    file.write(record(1));
    rmSync(path);
    file.write(record(2));
    expect(recordsIn(readFileSync(path, "utf8"))).toEqual([record(2)]);
  });

  it("begins a line of its own behind one that was cut off, by a process before it, or before it was opened again", () => {
    writeFileSync(path, '{"at":"2026-01-01T00:00');
    const file = new AuditFile(path, logger);
    file.write(record(1));
    appendFileSync(path, '{"at":"2026-01-01T00:00');
    file.reopen();
    file.write(record(2));
    const [cut, first, again, second] = readFileSync(path, "utf8").split("\n");
    expect([cut, again]).toEqual(['{"at":"2026-01-01T00:00', '{"at":"2026-01-01T00:00']);
    expect([first, second].map((line) => JSON.parse(line ?? ""))).toEqual([record(1), record(2)]);
  });
});

describe.skipIf(process.platform === "win32")("AuditFile on a pipe", () => {
  beforeEach(() => void spawnSync("mkfifo", [path]));

  it("says that nobody reads it, and waits for nobody", () => {
    expect(() => new AuditFile(path, logger)).toThrow(/--audit: cannot write .*: no process reads this pipe/);
  });

  it("loses what a reader does not take, and says how much when it goes on", () => {
    const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const file = new AuditFile(path, logger);
    for (let n = 0; n < 3_000; n++) file.write(record(n));
    expect(told).toEqual([expect.stringContaining("the audit log cannot be written")]);
    const taken = takenFrom(reader);
    const kept = taken.length;
    expect(kept).toBeLessThan(3_000);
    file.write(record(5_000));
    const [gap, next] = takenFrom(reader);
    expect(gap).toEqual({
      ...{ at: expect.any(String), until: expect.any(String), event: "audit.lost", outcome: "failure" },
      count: 3_000 - kept,
    });
    expect(next).toEqual(record(5_000));
    closeSync(reader);
    file.write(record(6_000));
    const again = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    file.write(record(7_000));
    expect(takenFrom(again)).toMatchObject([{ event: "audit.lost", count: 1 }, { count: 7_000 }]);
    closeSync(again);
  });
});

/** Records that can be read from a pipe. */
function takenFrom(reader: number): AuditRecord[] {
  let text = "";
  const buffer = Buffer.alloc(65_536);
  for (;;) {
    try {
      const length = readSync(reader, buffer);
      if (length === 0) break;
      text += buffer.toString("utf8", 0, length);
    } catch {
      break;
    }
  }
  return recordsIn(text);
}

describe.skipIf(process.platform === "win32")("AuditFile on a full disk", () => {
  it("loses no record but those that did not fit, and says how many", () => {
    // The process may write 1 KiB into a file. It prints the results on stdout.
    const script = `
      import { AuditFile } from ${JSON.stringify(new URL("../../src/cli/audit-file.ts", import.meta.url).href)};
      import { readFileSync, writeFileSync } from "node:fs";
      const file = new AuditFile("audit", { error: () => {} });
      const record = (n) => ({ at: new Date(n).toISOString(), event: "server.started", outcome: "success", count: n });
      for (let n = 1; n <= 20; n++) file.write(record(n));
      const first = readFileSync("audit", "utf8");
      // Somebody makes room at the front: the rest of the line that did not fit stays.
      writeFileSync("audit", first.slice(-10));
      file.write(record(21));
      console.log(JSON.stringify([first, readFileSync("audit", "utf8")]));`;
    writeFileSync(join(folder, "fill.mjs"), script);
    const limited = ["-c", 'ulimit -f 2; exec "$@"', "sh", process.execPath, "--import", import.meta.resolve("tsx")];
    const { stdout, stderr } = spawnSync("sh", [...limited, "fill.mjs"], { cwd: folder, encoding: "utf8" });
    expect(stderr).toBe("");
    const [first, second] = JSON.parse(stdout) as [string, string];
    const whole = first
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line) as AuditRecord);
    expect(whole.length).toBeGreaterThan(5);
    expect(first).toHaveLength(1_024);
    const [, ...rest] = second.trim().split("\n");
    expect(rest.map((line) => JSON.parse(line))).toMatchObject([
      { event: "audit.lost", outcome: "failure", count: 20 - whole.length },
      { count: 21 },
    ]);
  });
});
