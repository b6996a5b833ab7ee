import type { DescMessage, Message } from "@bufbuild/protobuf";
import {
  AgentCardSchema,
  ListTasksResponseSchema,
  SendMessageResponseSchema,
  StreamResponseSchema,
  TaskSchema,
} from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { answerReader } from "../../wire/json-reader.js";
import { isJsonObject } from "../../wire/json-struct.js";
import { mendChoice, mendTask } from "../answer-forms.js";
import { mendSecurity } from "../card-forms.js";

type Json = Record<string, unknown>;

/** What libraries write otherwise than the contract has it, by the kind of the answer. Each may change what it is given. */
const mends: Readonly<Record<string, (json: Json) => Json>> = {
  [AgentCardSchema.typeName]: changed(mendSecurity),
  [SendMessageResponseSchema.typeName]: mendChoice,
  [StreamResponseSchema.typeName]: mendChoice,
  [TaskSchema.typeName]: changed(mendTask),
  [ListTasksResponseSchema.typeName]: changed(({ tasks }) => {
    if (Array.isArray(tasks)) for (const task of tasks) if (isJsonObject(task)) mendTask(task);
  }),
};

function changed(mend: (json: Json) => void): (json: Json) => Json {
  return (json) => {
    mend(json);
    return json;
  };
}

/** Reads answers of a kind from JSON, which becomes the reader's, in any of the forms that libraries write. */
export function readerOfAnswers(output: DescMessage): (json: unknown) => Message {
  const read = answerReader(output);
  const mend = mends[output.typeName];
  return mend === undefined ? read : (json) => read(isJsonObject(json) ? mend(json) : json);
}
