import { resolve } from "node:path";
import { messageOf } from "../../../client/calls/message-input.js";
import { answerIn, errorAnswer } from "../../../examine/recording/answer.js";
import { recordedMessage } from "../../../examine/recording/format.js";
import { talk } from "../chat/chat.js";
import type { Turn } from "../chat/talk.js";
import type { Run } from "../context.js";
import { usage } from "../errors.js";
import { commandOf } from "../resume.js";
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
  const onTurn = async ({ begins, message, last, error, tookMs }: Turn): Promise<void> => {
    hasBegun ||= begins;
    const answer = error === undefined ? await answerIn(last) : errorAnswer(error);
    // The wait was interrupted or the agent was not reached: a replay has nothing to compare.
    if (answer === undefined || (error !== undefined && context.signal.aborted)) return;
    recorder.add({ begins: hasBegun, message: recordedMessage(messageOf(message)), answer, tookMs });
    hasBegun = false;
  };
  await talk(context, { name: "record", text, onTurn, readsLines: true });
  context.out.note(`View or replay it in a browser: ${commandOf(context.io, ["console", "--recording", file])}`);
};
