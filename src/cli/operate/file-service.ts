import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { userInfo } from "node:os";
import type { Interceptor, Transport } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import { silentLogger } from "../../core/log.js";
import { withoutSecrets } from "../../core/net.js";
import { createStoreAdmin } from "../../server/store-admin.js";
import { codeOf } from "../../store/sqlite/driver/codes.js";
import { sqliteStore } from "../../store/sqlite/index.js";
import { holdersOf } from "../../store/sqlite/lock.js";
import { checkCurrent } from "../../store/sqlite/schema-check.js";
import { StoreError, type TaskStore } from "../../store/task-store.js";
import { AuditFile } from "../audit-file.js";
import { CommandError, UsageError } from "../command-error.js";
import { isAnyAddress } from "../store-address.js";

interface FileOptions {
  /** Audit log: a file, `stderr` or `off`. */
  readonly audit: string;
  /** Seconds; 0 for no limit. */
  readonly timeout: number;
  /** Adds a token to each call. */
  readonly bearer: (token: string) => Interceptor;
}

/** Opens the file alone, and serves it within this process. @throws CommandError, StoreError */
export async function openFile(
  path: string,
  { audit, timeout, bearer }: FileOptions,
): Promise<{ readonly transport: Transport; close(): Promise<void> }> {
  if (isAnyAddress(path)) {
    const remedy = "Call the operator's service of a server that uses this store (--admin)";
    throw new UsageError(`--store: ${withoutSecrets(path)} is not a file. ${remedy}`);
  }
  if (!existsSync(path)) throw new UsageError(`--store: the file ${path} does not exist`);
  const log = audit === "off" ? undefined : new AuditFile(audit, silentLogger);
  checkCurrent(path);
  const store = openAlone(path);
  const token = randomBytes(32).toString("hex");
  const service = createStoreAdmin({ store, operator: userName(), token, audit: log });
  const transport = createConnectTransport({
    baseUrl: "http://store",
    fetch: (input, init) => service.fetch(new Request(input, init)),
    interceptors: [bearer(token)],
    useBinaryFormat: true,
    ...(timeout > 0 && { defaultTimeoutMs: timeout * 1_000 }),
  });
  return { transport, close: () => service.close() };
}

function openAlone(path: string): TaskStore {
  try {
    return sqliteStore(path);
  } catch (error) {
    if (!(error instanceof StoreError) || !codeOf(error.cause).startsWith("SQLITE_BUSY")) throw error;
    const remedy = "End it, or call its operator's service (--admin)";
    throw new CommandError("unreached", `${path} is in use: ${holdersOf(path)} has it open. ${remedy}`, {
      cause: error,
    });
  }
}

/** The user name, as the audit log may have it; the numeric id if the system has none. */
function userName(): string {
  try {
    return userInfo()
      .username.replaceAll(/[^\w.@-]/g, "_")
      .slice(0, 64);
  } catch {
    return String(process.getuid?.() ?? "unknown");
  }
}
