// Messages between a writer process and its clients before the first write.

import type { Restoration, StoreErrorKind } from "../task-store.js";
import type { Synchronous } from "./connection.js";
import type { DriverName } from "./driver/driver.js";
import type { FileIdentity } from "./file-identity.js";
import { SCHEMA_VERSION } from "./migrations.js";

/** Version of the messages between a writer process and its clients. */
const FRAMES_VERSION = 3;

/** Versions of frames and schema, which a writer process and its clients must have in common. */
export const WRITER_VERSION: string = `${FRAMES_VERSION}.${SCHEMA_VERSION}`;

/** Request of a worker for a process that opens this file and writes it for all workers. */
export interface WriterRequest {
  readonly path: string;
  readonly synchronous: Synchronous;
  /** True if other servers share the file. */
  readonly shared: boolean;
  readonly driver: DriverName;
}

/** Answer of the process: it has the file open, or the reason why not. */
export type WriterAnswer =
  | {
      readonly version: string;
      /** Path of the socket at which it listens. */
      readonly address: string;
      readonly path: string;
      readonly restorations: readonly Restoration[];
    }
  | { readonly error: { readonly kind: StoreErrorKind; readonly message: string } };

/** First message of a client. The client must have the same file open and run a program of the same version. */
export interface Hello {
  /** Version of the frames and of the schema. */
  readonly version: string;
  /** Identity of the file. */
  readonly dev: number;
  readonly ino: number;
}

/** Returns the first message of a client with these files. */
export function helloOf({ kept: [{ dev, ino }] }: FileIdentity): Hello {
  return { version: WRITER_VERSION, dev, ino };
}
