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
import { answerIn, failed, isAnswer } from "./answer.js";
import { Recorder, recordedOf } from "./recording.js";

/** `record`: talks with an agent as `chat` does, and writes each turn to a file. */
export const run: Run = async (context, [file = "", text]) => {
  if (context.out.mode.isJson) throw usage("record has no JSON output", "the file has the conversation as JSON lines");
  const path = resolve(context.io.cwd, file);
  const { redactor } = context.out;
  context.startBudget();
  const recorder = new Recorder(path, await recordedOf(context), {
    replaces: context.own("force").length > 0,
    clean: (given) => redactor.text(given),
  });
  // A turn that was left out may have begun a conversation.
  let hasBegun = false;
  const onTurn = ({ begins, message, last, error, tookMs }: Turn): void => {
    hasBegun ||= begins;
    const failure = error === undefined ? undefined : context.failure(error);
    // The wait was interrupted or the agent was not reached: a replay has nothing to compare.
    if (failure !== undefined && (context.signal.aborted || !isAnswer(failure))) return;
    const answer = failure === undefined ? answerIn(last) : failed(failure.code);
    recorder.add({ begins: hasBegun, message: withoutIds(message), answer, tookMs });
    hasBegun = false;
  };
  await talk(context, { name: "record", text, onTurn, readsLines: true });
};

function withoutIds(input: MessageInput): JsonObject {
  const { messageId: _, contextId: __, taskId: ___, ...rest } = jsonOf(MessageSchema, messageOf(input)) as JsonObject;
  return rest;
}
