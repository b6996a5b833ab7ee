import type { DescMessage, Message } from "@bufbuild/protobuf";
import { AgentCardSchema } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { answerReader } from "../../wire/json-reader.js";
import { isJsonObject } from "../../wire/json-struct.js";
import { mendSecurity } from "../card-forms.js";

/** Reads answers of a kind from JSON, which becomes the reader's. A card may be in any of the forms that libraries write. */
export function readerOfAnswers(output: DescMessage): (json: unknown) => Message {
  const read = answerReader(output);
  if (output.typeName !== AgentCardSchema.typeName) return read;
  return (json) => {
    if (isJsonObject(json)) mendSecurity(json);
    return read(json);
  };
}
