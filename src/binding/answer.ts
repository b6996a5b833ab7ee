import type { Message } from "@bufbuild/protobuf";
import { A2AError } from "../core/error.js";
import type { Limits } from "../core/limits.js";
import { type Answer, isStream } from "../service/invoke.js";

/** The answer of a method that the descriptor calls unary. */
export function messageOf(answer: Answer): Message {
  if (isStream(answer)) throw unfit("a stream where the descriptor says one message");
  return answer;
}

/** The answer of a method that the descriptor calls server streaming. */
export function messagesOf(answer: Answer): AsyncIterable<Message> {
  if (!isStream(answer)) throw unfit("one message where the descriptor says a stream");
  return answer;
}

function unfit(what: string): A2AError {
  return new A2AError("INTERNAL", "Internal error.", { cause: new TypeError(`the service answered ${what}`) });
}

/** @throws A2AError for an answer that is larger than what the server sends over gRPC. */
export function checkGrpcAnswer(length: number, { maxGrpcAnswerBytes }: Limits): void {
  if (length <= maxGrpcAnswerBytes) return;
  const message = `The answer has ${length} bytes; at most ${maxGrpcAnswerBytes} are sent in one message of gRPC.`;
  const advice = "Ask for less (historyLength, includeArtifacts), or subscribe to the task and resume its stream.";
  throw new A2AError("TOO_MANY_REQUESTS", `${message} ${advice}`);
}
