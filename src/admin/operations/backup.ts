import { existsSync } from "node:fs";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { CreateBackupResponseSchema } from "../../../gen/parley/admin/v1/admin_pb.js";
import { A2AError, invalid } from "../../core/error.js";
import { StoreError } from "../../store/task-store.js";
import { timestampOf } from "../../task/entry.js";
import type { AdminMethods } from "../methods.js";
import type { AdminParts } from "../parts.js";

/** A name without a folder, which is neither hidden nor taken for an option of a command. */
const plainName = /^[A-Za-z0-9][\w.-]{0,127}$/;

export function backupOperation({ store, backupFolder }: AdminParts): Pick<AdminMethods, "createBackup"> {
  return {
    async createBackup({ name }) {
      if (store.backup === undefined) throw unsupported("The store of this server cannot be backed up.");
      if (backupFolder === undefined) throw unsupported("This server has no folder for backups (--admin-backups).");
      if (!plainName.test(name) || name.endsWith(".partial")) {
        const description = "must be a file name of at most 128 letters, digits, dots, hyphens and underscores";
        throw invalid([{ field: "name", description }]);
      }
      const target = join(backupFolder, name);
      if (existsSync(target)) throw new A2AError("ALREADY_EXISTS", `${name} exists, and is not replaced.`);
      try {
        const { path, bytes, time } = await store.backup({ target });
        return create(CreateBackupResponseSchema, { path, bytes: BigInt(bytes), time: timestampOf(time) });
      } catch (error) {
        throw toRefusal(error);
      }
    },
  };
}

function unsupported(message: string): A2AError {
  return new A2AError("UNSUPPORTED_OPERATION", message);
}

/** Errors of the store are for operators: they name files, and no contents. */
function toRefusal(error: unknown): unknown {
  if (!(error instanceof StoreError)) return error;
  const { kind, message } = error;
  const passes = kind === "unavailable" || kind === "closed";
  return new A2AError(passes ? "UNAVAILABLE" : "UNSUPPORTED_OPERATION", message, { cause: error });
}
