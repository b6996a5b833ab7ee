import { type StreamResponse, StreamResponseSchema, TaskSchema } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { jsonReader } from "../../wire/json-reader.js";
import { jsonWriter } from "../../wire/json-writer.js";
import type { PushDialect } from "../version.js";
import { schemaForm } from "./json-form.js";

/** Push notifications of 0.3 and 0.2: the bare task, regardless of the binding that configured them. */
export const push: PushDialect = { mediaType: "application/json", write: jsonWriter(TaskSchema, schemaForm) };

/**
 * Reads a notification of 0.3 or 0.2: the bare task, or, from some servers, a bare event or message.
 *
 * @throws A2AError with reason INVALID_PARAMS for any other value
 */
export const readNotification: (json: unknown) => StreamResponse = jsonReader(StreamResponseSchema, schemaForm);
