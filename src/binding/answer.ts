import type { Message } from "@bufbuild/protobuf";
import { A2AError } from "../core/error.js";
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
