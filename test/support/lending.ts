import { type MessagePort, parentPort } from "node:worker_threads";
import type { WriterData } from "../../src/store/sqlite/connection.js";
import { useDriver } from "../../src/store/sqlite/driver/choose.js";
import { serveThread } from "../../src/store/sqlite/writer.js";

/** A thread that writes one store after the other. */
parentPort?.on("message", ({ data, port }: { readonly data: WriterData; readonly port: MessagePort }) => {
  useDriver(data.driver);
  port.on("close", () => parentPort?.postMessage("closed"));
  serveThread(port, data);
});
