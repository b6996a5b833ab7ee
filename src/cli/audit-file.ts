import { closeSync, openSync, writeSync } from "node:fs";
import type { AuditLog, AuditRecord } from "../core/audit.js";
import type { Logger } from "../core/log.js";
import { UsageError } from "./usage-error.js";

/** Between two lines of the log about records that cannot be written, in milliseconds. */
const TELL_EVERY_MS = 60_000;

/** An audit log in a file, or on stderr: one JSON object per line, each written before anything else happens. */
export class AuditFile implements AuditLog {
  readonly #path: string;
  readonly #logger: Logger;
  #file: number;
  #toldAt = Number.NEGATIVE_INFINITY;

  /**
   * @param path of the file, which only its owner may read where it is new; `stderr` for the process's own.
   * @throws UsageError for a file that cannot be opened.
   */
  constructor(path: string, logger: Logger) {
    this.#path = path;
    this.#logger = logger;
    try {
      this.#file = path === "stderr" ? STDERR : openSync(path, "a", 0o600);
    } catch (cause) {
      throw new UsageError(`--audit: cannot write ${path}: ${(cause as Error).message}`, { cause });
    }
  }

  write(record: AuditRecord): void {
    try {
      writeSync(this.#file, `${JSON.stringify(record)}\n`);
    } catch (error) {
      this.#failed(error);
    }
  }

  /** Opens the file again, as after a rotation has renamed it. */
  reopen(): void {
    if (this.#file === STDERR) return;
    try {
      const file = openSync(this.#path, "a", 0o600);
      closeSync(this.#file);
      this.#file = file;
    } catch (error) {
      this.#failed(error);
    }
  }

  #failed(error: unknown): void {
    const now = performance.now();
    if (now - this.#toldAt < TELL_EVERY_MS) return;
    this.#toldAt = now;
    this.#logger.error({ err: error }, "the audit log cannot be written");
  }
}

const STDERR = 2;
