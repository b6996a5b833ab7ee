import { randomUUID } from "node:crypto";

let lastMs = -1;
let prefix = "";

/**
 * A new identifier of a task, context, message or artifact: a UUID of version 7 (RFC 9562, 5.7), so that ids made one
 * after the other stand side by side in an index. Its random bits are those of Node's UUID, which takes them in large
 * pieces. Clients treat it as opaque (specification 3.4.2).
 */
export function newId(): string {
  const now = Date.now();
  if (now !== lastMs) {
    lastMs = now;
    const time = now.toString(16).padStart(12, "0");
    prefix = `${time.slice(0, 8)}-${time.slice(8)}-7`;
  }
  return prefix + randomUUID().slice(15);
}

const process = newId();
let requests = 0;

/** A new identifier of a request: unique like `newId`, but only counted up within the process, which costs less. */
export function newRequestId(): string {
  requests += 1;
  return `${process}-${requests.toString(36)}`;
}
