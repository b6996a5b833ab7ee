import { A2AError } from "../core/error.js";
import type { Limits } from "../core/limits.js";

/** @throws A2AError for an answer larger than `maxGrpcAnswerBytes` */
export function checkGrpcAnswer(length: number, { maxGrpcAnswerBytes }: Limits): void {
  if (length <= maxGrpcAnswerBytes) return;
  const message = `The answer has ${length} bytes; at most ${maxGrpcAnswerBytes} are sent in one message of gRPC.`;
  const advice = "Ask for less (historyLength, includeArtifacts), or subscribe to the task and resume its stream.";
  throw new A2AError("TOO_MANY_REQUESTS", `${message} ${advice}`);
}
