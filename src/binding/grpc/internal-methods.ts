import { type DescMethod, fromBinary, type Message } from "@bufbuild/protobuf";
import { A2AError, StatusCode } from "../../core/error.js";
import { type Logger, requestFacts } from "../../core/log.js";
import { NodeWriter } from "../../http/node/writer.js";
import { envelopeWriter } from "../../wire/binary-writer.js";
import type { Envelope } from "../../wire/envelopes.js";
import type { ServiceBindingOptions } from "../binding.js";
import { bytesOf } from "./compression.js";
import { envelopeReader } from "./envelope-reader.js";
import type { GrpcExchange } from "./exchange.js";
import { type GrpcRequestRules, type Request, readRequest, refusalStatus } from "./incoming.js";
import { type InternalMethod, MAX_QUESTION_BYTES, StatusError } from "./internal-service.js";
import type { InternalServices } from "./internal-services.js";
import type { ServedMethod } from "./methods.js";

/** Returns the methods of health and reflection by path. */
export function internalMethods(
  all: InternalServices,
  { logger }: Pick<ServiceBindingOptions, "logger">,
): [path: string, method: ServedMethod][] {
  return all.services.flatMap(({ service, methods }) =>
    service.methods.flatMap((desc): [string, ServedMethod][] => {
      const method = methods[desc.name];
      if (method === undefined) return [];
      const context = { desc, all, logger };
      const served =
        method.kind === "bidi_streaming" ? new Conversation(method, context) : new SingleQuestion(method, context);
      return [[`/${service.typeName}/${desc.name}`, served]];
    }),
  );
}

interface Context {
  readonly desc: DescMethod;
  readonly all: InternalServices;
  readonly logger: Logger;
}

type Kind<K extends InternalMethod["kind"]> = Extract<InternalMethod, { kind: K }>;

/** Reads the requests of a method and writes its answers. */
class Codec {
  readonly version = "";
  readonly #desc: DescMethod;
  readonly #write: (message: Message) => Uint8Array;
  readonly #logger: Logger;

  constructor({ desc, logger }: Context) {
    this.#desc = desc;
    this.#write = envelopeWriter(desc.output);
    this.#logger = logger;
  }

  read(bytes: Uint8Array): Message {
    try {
      return fromBinary(this.#desc.input, bytes);
    } catch {
      throw new StatusError(StatusCode.INVALID_ARGUMENT, `The request's bytes are not a ${this.#desc.input.typeName}.`);
    }
  }

  write(answer: Message): Uint8Array {
    return this.#write(answer);
  }

  /** Ends a call with an error. */
  fail(exchange: GrpcExchange, thrown: unknown): void {
    if (!(thrown instanceof StatusError || thrown instanceof A2AError))
      this.#logger.error({ err: thrown, ...requestFacts(exchange) }, "a call of gRPC could not be answered");
    exchange.fail(refusalStatus(thrown));
  }
}

/** A method with a single request, which is answered once or with a stream of changes until the call ends. */
class SingleQuestion extends Codec implements ServedMethod, Request {
  readonly maxBytes: number = MAX_QUESTION_BYTES;
  readonly #method: Kind<"unary" | "server_streaming">;
  readonly #all: InternalServices;

  constructor(method: Kind<"unary" | "server_streaming">, context: Context) {
    super(context);
    this.#method = method;
    this.#all = context.all;
  }

  begin(exchange: GrpcExchange, rules: GrpcRequestRules): void {
    readRequest(exchange, this, rules);
  }

  arrived(exchange: GrpcExchange, bytes: Uint8Array): void {
    const method = this.#method;
    try {
      const question = this.read(bytes);
      if (method.kind === "unary") return exchange.reply(this.write(method.answer(question)));
      const close = this.#all.opened(() => exchange.end());
      const stop = method.watch(question, (answer) => {
        if (exchange.isOver) return;
        exchange.begin();
        exchange.stream.write(this.write(answer));
      });
      exchange.onOver = () => {
        close();
        stop();
      };
    } catch (error) {
      this.fail(exchange, error);
    }
  }
}

/** A method that answers each request of a stream. */
class Conversation extends Codec implements ServedMethod {
  readonly #method: Kind<"bidi_streaming">;
  readonly #all: InternalServices;

  constructor(method: Kind<"bidi_streaming">, context: Context) {
    super(context);
    this.#method = method;
    this.#all = context.all;
  }

  begin(exchange: GrpcExchange): void {
    const { stream } = exchange;
    const reader = envelopeReader(MAX_QUESTION_BYTES);
    const writer = new NodeWriter(stream);
    exchange.onOver = this.#all.opened(() => exchange.end());
    // Answers are sent in the order of their requests, even if some requests must be decompressed first.
    let last: Promise<void> = Promise.resolve();
    const next = (work: () => void | Promise<void>): void => {
      last = last.then(work).catch((error: unknown) => this.fail(exchange, error));
    };
    stream.on("data", (chunk: Buffer) => {
      if (exchange.isOver) return;
      // Reads no further request until these are answered.
      stream.pause();
      next(async () => {
        reader.push(chunk);
        for (let envelope = reader.take(); envelope !== undefined; envelope = reader.take()) {
          await this.#answer(exchange, envelope, writer);
        }
        stream.resume();
      });
    });
    stream.on("end", () => {
      next(() => {
        if (reader.isInside) throw new StatusError(StatusCode.INVALID_ARGUMENT, "The last message is not whole.");
        exchange.end();
      });
    });
  }

  async #answer(exchange: GrpcExchange, envelope: Envelope, writer: NodeWriter): Promise<void> {
    const bytes = await bytesOf(envelope, exchange.header("grpc-encoding"), MAX_QUESTION_BYTES);
    if (exchange.isOver) return;
    const answer = this.write(await this.#method.answer(this.read(bytes)));
    exchange.begin();
    if (!writer.write(answer)) await writer.waitForDrain();
  }
}
