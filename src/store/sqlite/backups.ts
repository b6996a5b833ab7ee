import type { ChildProcess } from "node:child_process";
import { constants, setPriority } from "node:os";
import { resolve } from "node:path";
import { type BackupResult, StoreError } from "../task-store.js";
import { partialOf, removePartial } from "./backup-file.js";
import type { CopyReply, CopyRequest } from "./copier.js";
import type { DriverName } from "./driver/driver.js";
import { startCopier } from "./start-copier.js";

/**
 * Backups of an open store, one at a time, each made by a process of its own: a copy takes seconds per gigabyte and
 * cannot be interrupted, so that a thread would delay the end of this process. The process has a low priority, and
 * ends at once when the store is closed.
 */
export class Backups {
  readonly #path: string;
  readonly #driver: DriverName;
  #copier: ChildProcess | undefined;
  #isClosed = false;

  constructor(path: string, driver: DriverName) {
    this.#path = path;
    this.#driver = driver;
  }

  async make({ target: given }: { readonly target: string }): Promise<BackupResult> {
    if (this.#isClosed) throw closed();
    if (this.#copier !== undefined) throw new StoreError("failed", "Another backup of this store is being made.");
    const target = resolve(given);
    const partial = partialOf(target);
    const copier = startCopier();
    this.#copier = copier;
    try {
      const reply = await replyOf(copier, { path: this.#path, target, partial, driver: this.#driver });
      if (!("error" in reply)) return reply;
      throw new StoreError(reply.error.kind, reply.error.message);
    } catch (error) {
      throw this.#isClosed ? closed() : error;
    } finally {
      this.#copier = undefined;
      removePartial(partial);
    }
  }

  /** Ends a backup that is being made. */
  close(): void {
    this.#isClosed = true;
    this.#copier?.kill("SIGKILL");
  }
}

/** Sends the request and waits until the process has ended. */
function replyOf(copier: ChildProcess, request: CopyRequest): Promise<CopyReply> {
  return new Promise((resolve, reject) => {
    let reply: CopyReply | undefined;
    copier.once("spawn", () => lowerPriority(copier.pid));
    copier.once("message", (message) => {
      reply = message as CopyReply;
    });
    copier.once("error", (cause) => reject(failed("cannot be started", cause)));
    copier.once("exit", (code, signal) => {
      if (reply !== undefined) resolve(reply);
      else reject(failed(`ended by ${signal ?? `code ${code}`}`));
    });
    copier.send(request, (cause) => cause !== null && reject(failed("cannot be reached", cause)));
  });
}

function lowerPriority(pid: number | undefined): void {
  try {
    if (pid !== undefined) setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL);
  } catch {
    // It has ended, or the system has no priorities.
  }
}

function failed(how: string, cause?: Error): StoreError {
  return new StoreError("failed", `The backup failed: its process ${how}.`, { cause });
}

function closed(): StoreError {
  return new StoreError("closed", "The store is closed.");
}
