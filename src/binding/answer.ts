import type { Message } from "@bufbuild/protobuf";
import { A2AError } from "../core/error.js";
import type { Limits } from "../core/limits.js";
import { type InvocationResult, isStream } from "../service/invoke.js";

/** Returns the answer of a unary method. */
export function messageOf(answer: InvocationResult): Message {
  if (isStream(answer)) throw unfit("a stream where the descriptor says one message");
  return answer;
}

/** Returns the answer of a server-streaming method. */
export function messagesOf(answer: InvocationResult): AsyncIterable<Message> {
  if (!isStream(answer)) throw unfit("one message where the descriptor says a stream");
  return answer;
}

function unfit(what: string): A2AError {
  return new A2AError("INTERNAL", "Internal error.", { cause: new TypeError(`the service answered ${what}`) });
}

/** @throws A2AError for an answer larger than `maxGrpcAnswerBytes` */
export function checkGrpcAnswer(length: number, { maxGrpcAnswerBytes }: Limits): void {
  if (length <= maxGrpcAnswerBytes) return;
  const message = `The answer has ${length} bytes; at most ${maxGrpcAnswerBytes} are sent in one message of gRPC.`;
  const advice = "Ask for less (historyLength, includeArtifacts), or subscribe to the task and resume its stream.";
  throw new A2AError("TOO_MANY_REQUESTS", `${message} ${advice}`);
}
