import type { Logger } from "../../core/log.js";
import { HeartbeatThread } from "../heartbeat-thread.js";
import { StoreError } from "../task-store.js";
import { assemble, defaultTimes, type Parts, type SqliteStore } from "./assemble.js";
import { toStoreError } from "./errors.js";
import { closeFiles, type FileIdentity } from "./file-identity.js";
import { startHeartbeats } from "./start-heartbeats.js";
import { WriterLink, type WriterPlace } from "./writer-link.js";
import { helloOf, WRITER_VERSION, type WriterAnswer, type WriterRequest } from "./writer-protocol.js";

/**
 * The store of a worker. The writer process writes the file for all workers of a server, and this thread reads it. A
 * thread of this process continues the heartbeats while its event loop is blocked. The writer process cannot do that:
 * it would also continue those of a stopped worker.
 *
 * @throws StoreError if the process could not open the file, or has another version
 */
export function workerStore(answer: WriterAnswer, { shared }: WriterRequest, logger: Logger): SqliteStore {
  if ("error" in answer) throw new StoreError(answer.error.kind, answer.error.message);
  const { version, address, path, restorations } = answer;
  if (version !== WRITER_VERSION) {
    const why = `the process that writes it has version ${version}, and this one has ${WRITER_VERSION}`;
    throw new StoreError("failed", `Cannot open ${path}: ${why}. Restart the server.`);
  }
  const placeOf = (files: FileIdentity): WriterPlace => ({ address, hello: helloOf(files) });
  let heartbeats: HeartbeatThread | undefined;
  const parts: Parts = {
    file: { path, deadHolders: undefined, restorations },
    settings: { ...defaultTimes, logger },
    shared: true,
    foreign: shared,
    writer: "process",
    start: (files) => new WriterLink(placeOf(files)),
    onHeartbeat: (request, files) => {
      heartbeats ??= new HeartbeatThread(() => startHeartbeats(placeOf(files)));
      heartbeats.note(request);
    },
    onClose: () => void heartbeats?.close(),
    afterClose: (files) => closeFiles(files),
  };
  try {
    return assemble(parts);
  } catch (error) {
    // The file was removed meanwhile.
    throw toStoreError(error, `Cannot open ${path}`);
  }
}
