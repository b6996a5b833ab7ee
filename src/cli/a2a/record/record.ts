import { resolve } from "node:path";
import type { JsonObject } from "@bufbuild/protobuf";
import { MessageSchema } from "../../../../gen/lf/a2a/v1/a2a_pb.js";
import { messageOf } from "../../../client/calls/message-input.js";
import type { MessageInput } from "../../../task/message-input.js";
import { talk } from "../chat/chat.js";
import type { Turn } from "../chat/talk.js";
import type { Run } from "../context.js";
import { usage } from "../errors.js";
import { jsonOf } from "../output.js";
import { answerIn, failed } from "./answer.js";
import { Recorder } from "./recording.js";

/** `record`: talks with an agent as `chat` does, and writes each turn to a file. */
export const run: Run = async (context, [file = "", text]) => {
  if (context.out.mode.isJson) throw usage("record has no JSON output", "the file has the conversation as JSON lines");
  const { client } = await context.agent();
  const path = resolve(context.io.cwd, file);
  const { redactor } = context.out;
  const recorder = new Recorder(path, client.card.name, {
    replaces: context.own("force").length > 0,
    clean: (given) => redactor.text(given),
  });
  const onTurn = ({ begins, message, last, error, tookMs }: Turn): void => {
    const answer = error === undefined ? answerIn(last) : failed(context.failure(error).code);
    recorder.add({ begins, message: withoutIds(message), answer, tookMs });
  };
  await talk(context, { name: "record", text, onTurn, readsLines: true });
};

function withoutIds(input: MessageInput): JsonObject {
  const { messageId: _, contextId: __, taskId: ___, ...rest } = jsonOf(MessageSchema, messageOf(input)) as JsonObject;
  return rest;
}
