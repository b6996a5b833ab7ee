import type { DescService, Message } from "@bufbuild/protobuf";

/** A method of a service about the server itself, for every binding that serves it. */
export type InternalMethod =
  | {
      readonly kind: "unary";
      /** @throws StatusError */
      answer(request: Message): Message;
    }
  | {
      readonly kind: "server_streaming";
      /** Reports the current state and every change of it, until the returned function is called. */
      watch(request: Message, notify: (answer: Message) => void): () => void;
    }
  | {
      /** Answers each request of a stream. The first answer may have to wait for a service to load. */
      readonly kind: "bidi_streaming";
      answer(request: Message): Message | Promise<Message>;
    };

/** Maximum size of a request to one of these services, in bytes. */
export const MAX_QUESTION_BYTES: number = 64 * 1024;

/** A service about the server itself, with its methods by rpc name. */
export interface InternalService {
  readonly service: DescService;
  readonly methods: Readonly<Record<string, InternalMethod>>;
}

/** An error answer; `code` is a gRPC code. */
export class StatusError extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}
