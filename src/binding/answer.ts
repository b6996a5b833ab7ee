import type { Message } from "@bufbuild/protobuf";
import { A2AError } from "../core/error.js";
import { type InvocationResult, isStream } from "../service/invoke.js";

/** Returns the answer of a unary method. */
export function unaryAnswer(answer: InvocationResult): Message {
  if (isStream(answer)) throw unfit("a stream where the descriptor says one message");
  return answer;
}

/** Returns the answer of a server-streaming method. */
export function streamAnswer(answer: InvocationResult): AsyncIterable<Message> {
  if (!isStream(answer)) throw unfit("one message where the descriptor says a stream");
  return answer;
}

function unfit(what: string): A2AError {
  return new A2AError("INTERNAL", "Internal error.", { cause: new TypeError(`the service answered ${what}`) });
}
