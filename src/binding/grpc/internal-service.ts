import type { DescService, Message } from "@bufbuild/protobuf";

/** A method of a service that serves the server itself, as every binding that carries it needs it. */
export type InternalMethod =
  | {
      readonly kind: "unary";
      /** @throws Refusal */
      answer(request: Message): Message;
    }
  | {
      readonly kind: "server_streaming";
      /** Reports the present state, and every change of it, until the returned function is called. */
      watch(request: Message, tell: (answer: Message) => void): () => void;
    }
  | {
      /** One answer to each question. The first may have to wait for a service to be loaded. */
      readonly kind: "bidi_streaming";
      answer(request: Message): Message | Promise<Message>;
    };

/** The largest question to one of these services, in bytes. */
export const MAX_QUESTION_BYTES: number = 64 * 1024;

/** A service that serves the server itself, with its methods by the names of the rpcs. */
export interface InternalService {
  readonly service: DescService;
  readonly methods: Readonly<Record<string, InternalMethod>>;
}

/** An answer that is an error; `code` is one of gRPC. */
export class Refusal extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}
