import { closeSync, constants, fstatSync, openSync, readSync, writeSync } from "node:fs";
import type { AuditLog, AuditRecord } from "../audit/audit.js";
import { auditEvents } from "../audit/events.js";
import type { Logger } from "../core/log.js";
import { attempt, membersOf } from "../core/members.js";
import { usageErrorOf } from "./command-error.js";

/** Minimum time between log lines about records that cannot be written, in milliseconds. */
const REPORT_EVERY_MS = 60_000;

/**
 * An audit log in a file or a pipe, or on stderr: one JSON object per line, each written synchronously. Records that
 * cannot be written (a full disk, a full pipe) are counted, and the next successful record is preceded by the count.
 */
export class AuditFile implements AuditLog {
  readonly #path: string;
  readonly #logger: Logger;
  #file: number;
  #reportedAt = Number.NEGATIVE_INFINITY;
  #lost: { count: number; readonly at: string; until: string } | undefined;
  /** True if the last line was written only in part, so that the next record has to begin with a newline. */
  #isCut: boolean;

  /**
   * @param path of the file, or `stderr`. Only the owner may read a new file.
   * @throws UsageError if the file cannot be opened.
   */
  constructor(path: string, logger: Logger) {
    this.#path = path;
    this.#logger = logger;
    this.#file =
      path === "stderr" ? STDERR : attempt(() => open(path), usageErrorOf(`--audit: cannot write ${path}: `));
    this.#isCut = this.#file !== STDERR && isCut(path, this.#file);
  }

  write(record: AuditRecord): void {
    try {
      if (this.#file !== STDERR && fstatSync(this.#file).nlink === 0) this.#open();
      this.#writeLost();
      this.#writeLine(record);
    } catch (error) {
      this.#lost ??= { count: 0, at: record.at, until: record.at };
      this.#lost.count++;
      this.#lost.until = record.at;
      this.#failed(error);
    }
  }

  /** Opens the file again, after a rotation has renamed it. */
  reopen(): void {
    if (this.#file === STDERR) return;
    try {
      this.#open();
    } catch (error) {
      this.#failed(error);
    }
  }

  #open(): void {
    const file = open(this.#path);
    closeSync(this.#file);
    this.#file = file;
    this.#isCut = isCut(this.#path, file);
  }

  #writeLost(): void {
    if (this.#lost === undefined) return;
    const { at, until, count } = this.#lost;
    this.#writeLine({ at, event: "audit.lost", outcome: auditEvents["audit.lost"].outcome, count, until });
    this.#lost = undefined;
  }

  #writeLine(record: AuditRecord): void {
    const line = Buffer.from(`${this.#isCut ? "\n" : ""}${JSON.stringify(record)}\n`);
    const length = writeSync(this.#file, line);
    if (length === line.length) {
      this.#isCut = false;
      return;
    }
    this.#isCut ||= length > 0;
    throw new Error(`no more than ${length} of ${line.length} bytes of a record could be written`);
  }

  #failed(error: unknown): void {
    const now = performance.now();
    if (now - this.#reportedAt < REPORT_EVERY_MS) return;
    this.#reportedAt = now;
    this.#logger.error({ err: error }, "the audit log cannot be written");
  }
}

const STDERR = 2;

const { O_APPEND, O_CREAT, O_NONBLOCK = 0, O_WRONLY } = constants;

/**
 * Opens the file in non-blocking mode: neither opening nor writing a pipe may wait for its reader and block the server.
 */
function open(path: string): number {
  try {
    return openSync(path, O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK, 0o600);
  } catch (error) {
    if (membersOf(error).code !== "ENXIO") throw error;
    throw new Error("no process reads this pipe", { cause: error });
  }
}

/** True if a file ends within a line, as after a full disk. An unreadable file counts as complete. */
function isCut(path: string, file: number): boolean {
  const stats = fstatSync(file);
  // Opening a pipe here would read from it.
  if (!stats.isFile() || stats.size === 0) return false;
  try {
    const read = openSync(path, constants.O_RDONLY);
    try {
      const last = Buffer.alloc(1);
      readSync(read, last, 0, 1, stats.size - 1);
      return last.toString() !== "\n";
    } finally {
      closeSync(read);
    }
  } catch {
    return false;
  }
}
