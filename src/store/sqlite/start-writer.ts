import type { Worker } from "node:worker_threads";
import { startThread } from "../thread-beside.js";
import type { WriterData } from "./connection.js";

export function startWriter(data: WriterData): Worker {
  return startThread({ beside: import.meta.url, name: "writer", data, youngMib: 8 });
}
