import { type StreamResponse, StreamResponseSchema } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { jsonReader } from "../../wire/json-reader.js";
import { schemaForm } from "./json-form.js";

/**
 * Reads a notification of 0.3 or 0.2: the bare task, or, as some servers send them, a bare event or message.
 *
 * @throws A2AError with reason INVALID_PARAMS for anything else.
 */
export const readNotification: (json: unknown) => StreamResponse = jsonReader(StreamResponseSchema, schemaForm);
