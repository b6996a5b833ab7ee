import { type StreamResponse, StreamResponseSchema } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { jsonReader } from "../../wire/json-reader.js";
import { isJsonObject } from "../../wire/json-struct.js";
import { taskFromV01 } from "./answers.js";

const read = jsonReader(StreamResponseSchema);

/**
 * Reads a notification of 0.1, which is the bare task.
 *
 * @throws A2AError with reason INVALID_PARAMS for anything else.
 */
export function readNotification(json: unknown): StreamResponse {
  return read(isJsonObject(json) ? { task: taskFromV01(json, { taskId: "", contextId: "" }) } : json);
}
