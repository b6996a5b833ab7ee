import type { DescMethod, Message } from "@bufbuild/protobuf";
import type { Call } from "../core/call.js";

/** One call, as a version of the protocol has it: a method of a descriptor and its request. */
export interface Asked {
  readonly method: DescMethod;
  readonly request: Message;
  readonly call: Call;
}

/** Answers calls: a message, or, where the descriptor says server streaming, messages. An `Invoke` is one. */
export type Serve = (asked: Asked) => Promise<Message | AsyncIterable<Message>>;
