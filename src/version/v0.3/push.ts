import { TaskSchema } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { jsonWriter } from "../../wire/json-writer.js";
import type { PushDialect } from "../version.js";
import { schemaForm } from "./json-form.js";

/** Push notifications of 0.3 and of 0.2: the bare task, whichever binding they were asked for over. */
export const push: PushDialect = { mediaType: "application/json", write: jsonWriter(TaskSchema, schemaForm) };
