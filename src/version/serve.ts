import type { DescMethod, Message } from "@bufbuild/protobuf";
import type { Call } from "../core/call.js";

/** One call in some version of the protocol: a method of a descriptor and its request. */
export interface Asked {
  readonly method: DescMethod;
  readonly request: Message;
  readonly call: Call;
}

/** Answers calls with a message, or, for a server-streaming method, with messages. An `Invoke` is one. */
export type Serve = (asked: Asked) => Promise<Message | AsyncIterable<Message>>;
