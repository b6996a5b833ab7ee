import type { StreamResponse } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { lazyImport } from "../core/lazy.js";
import { isJsonObject } from "../wire/json-struct.js";

/** Reads the JSON of a notification. @throws A2AError with reason INVALID_PARAMS */
type ReadNotification = (json: unknown) => StreamResponse;

const ofV03 = lazyImport(() => import("./v0.3/push.js"));
const ofV01 = lazyImport(() => import("./v0.1/push.js"));

/**
 * Returns the reader of a notification of an older version; undefined for the service's own. Older notifications have
 * no wrapper: in 0.3 and 0.2 `kind` is the type, and a task of 0.1 has a status.
 */
export async function olderNotification(
  json: Readonly<Record<string, unknown>>,
): Promise<ReadNotification | undefined> {
  if (typeof json.kind === "string") return (await ofV03()).readNotification;
  const isOfV01 = typeof json.id === "string" && isJsonObject(json.status) && typeof json.status.state === "string";
  return isOfV01 ? (await ofV01()).readNotification : undefined;
}
