import { v7 } from "uuid";

/**
 * A new identifier of a task, context, message or artifact: a UUID of version 7 (RFC 9562), so that ids made one
 * after the other stand side by side in an index. Clients treat it as opaque (specification 3.4.2).
 */
export function newId(): string {
  return v7();
}

const process = v7();
let requests = 0;

/** A new identifier of a request: unique like `newId`, but only counted up within the process, which costs less. */
export function newRequestId(): string {
  requests += 1;
  return `${process}-${requests.toString(36)}`;
}
