import { type BackupResult, StoreError, type StoreErrorKind } from "../task-store.js";
import { backUpFile } from "./backup.js";
import { useDriver } from "./driver/choose.js";
import type { DriverName } from "./driver/driver.js";

/** The request of a server to its copier. */
export interface CopyRequest {
  readonly path: string;
  readonly target: string;
  /** Temporary name, which the server removes if the copier is killed. */
  readonly partial: string;
  readonly driver: DriverName;
}

/** The answer of a copier: the backup, or its error. */
export type CopyReply = BackupResult | { readonly error: { readonly kind: StoreErrorKind; readonly message: string } };

/** The process that makes a backup for a server. It ends after its answer, or when the server has ended. */
process.once("message", (request: CopyRequest) => {
  void copy(request).then((reply) => {
    if (process.connected) process.send?.(reply, () => process.disconnect());
  });
});

async function copy({ path, target, partial, driver }: CopyRequest): Promise<CopyReply> {
  try {
    useDriver(driver);
    return await backUpFile(path, target, partial);
  } catch (error) {
    const { kind, message } = error instanceof StoreError ? error : new StoreError("failed", String(error));
    return { error: { kind, message } };
  }
}
