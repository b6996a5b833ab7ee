import type { Call } from "../core/call.js";
import { A2AError } from "../core/error.js";
import type { Limits } from "../core/limits.js";

/**
 * Refuses an answer larger than `maxGrpcAnswerBytes`. The service is done with the call by then, so the refusal is
 * recorded here.
 *
 * @throws A2AError
 */
export function checkGrpcAnswer(length: number, call: Call, { maxGrpcAnswerBytes }: Limits): void {
  if (length <= maxGrpcAnswerBytes) return;
  const message = `The answer has ${length} bytes; at most ${maxGrpcAnswerBytes} are sent in one message of gRPC.`;
  const advice = "Ask for less (historyLength, includeArtifacts), or subscribe to the task and resume its stream.";
  const metadata = { limit: "maxGrpcAnswerBytes" satisfies keyof Limits };
  const error = new A2AError("TOO_MANY_REQUESTS", `${message} ${advice}`, { metadata });
  call.refusals?.record(error);
  throw error;
}
