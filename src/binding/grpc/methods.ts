import type { DescMethod, Message } from "@bufbuild/protobuf";
import { Call } from "../../core/call.js";
import { type A2AError, toA2AError } from "../../core/error.js";
import type { Limits } from "../../core/limits.js";
import { type Logger, logFacts } from "../../core/log.js";
import { NodeWriter } from "../../http/node/writer.js";
import { writePieces } from "../../http/pieces.js";
import type { OlderTable } from "../../version/load.js";
import { envelopeWriter } from "../../wire/binary-writer.js";
import { weightOf } from "../../wire/marks.js";
import { parseVersion } from "../../wire/service-params.js";
import { streamAnswer, unaryAnswer } from "../answer.js";
import { type OlderServiceOptions, olderTable, type ServiceBindingOptions } from "../binding.js";
import { failureOf } from "../failure.js";
import { statusOf } from "./error.js";
import type { GrpcExchange } from "./exchange.js";
import { type GrpcRequestRules, type Request, readRequest } from "./incoming.js";
import { largeEnvelope, requestReader } from "./message.js";
import { noteCalled } from "./rejections.js";
import { MessageSink, writeAll } from "./stream.js";

/** A method that the gRPC port serves. */
export interface ServedMethod {
  /** Version implied by the package of its service. */
  readonly version: string;
  /** Starts to answer a call. */
  begin(exchange: GrpcExchange, rules: GrpcRequestRules): void;
}

/** A path shared by several versions. Their packages are the same, and `A2A-Version` selects the version. */
export class SharedPath {
  readonly #first: ServedMethod;
  readonly #others = new Map<string, ServedMethod>();

  constructor(first: ServedMethod) {
    this.#first = first;
  }

  add(method: ServedMethod): void {
    this.#others.set(method.version, method);
  }

  /** Returns the method of the requested version, or of the first version. */
  of(asked: unknown): ServedMethod {
    const name = typeof asked === "string" ? parseVersion(asked) : undefined;
    return (name === undefined ? undefined : this.#others.get(name)) ?? this.#first;
  }
}

/** The services of all versions, the native one first. */
export type GrpcServices = readonly [ServiceBindingOptions, ...OlderServiceOptions[]];

/**
 * Returns the methods of services by path. Those with a stream of requests are left out, because `invoke` does not
 * support them.
 */
export function methodsByPath([own, ...older]: GrpcServices): Map<string, ServedMethod | SharedPath> {
  const paths = new Map<string, ServedMethod | SharedPath>();
  for (const [path, method] of [...callMethodsOf(own), ...older.flatMap(olderMethodsOf)]) {
    const before = paths.get(path);
    const shared = before === undefined || before instanceof SharedPath ? before : new SharedPath(before);
    shared?.add(method);
    paths.set(path, shared ?? method);
  }
  return paths;
}

function callMethodsOf(options: ServiceBindingOptions): [path: string, method: CallMethod][] {
  return options.service.methods
    .filter(({ methodKind }) => methodKind === "unary" || methodKind === "server_streaming")
    .map((method) => [`/${options.service.typeName}/${method.name}`, new CallMethod(method, options)]);
}

function olderMethodsOf(options: OlderServiceOptions): [path: string, method: ServedMethod][] {
  const { service, limits, logger, version } = options;
  const methods = olderTable(options, (loaded) => new Map(callMethodsOf(loaded)));
  return service.methods.map(({ name }) => {
    const path = `/${service.typeName}/${name}`;
    return [path, new OlderCallMethod(path, methods, { name, version, maxBytes: limits.maxRequestBytes, logger })];
  });
}

interface OlderCallOptions {
  readonly name: string;
  readonly version: string;
  readonly maxBytes: number;
  readonly logger: Logger;
}

/** A method of another version, which may be loaded while the request arrives. */
class OlderCallMethod implements ServedMethod, Request {
  readonly version: string;
  readonly maxBytes: number;
  readonly #path: string;
  readonly #methods: OlderTable<ReadonlyMap<string, CallMethod>>;
  readonly #options: OlderCallOptions;

  constructor(path: string, methods: OlderTable<ReadonlyMap<string, CallMethod>>, options: OlderCallOptions) {
    this.version = options.version;
    this.maxBytes = options.maxBytes;
    this.#path = path;
    this.#methods = methods;
    this.#options = options;
  }

  begin(exchange: GrpcExchange, rules: GrpcRequestRules): void {
    const loaded = this.#methods.now?.get(this.#path);
    if (loaded !== undefined) loaded.begin(exchange, rules);
    else readRequest(exchange, this, rules);
  }

  arrived(exchange: GrpcExchange, bytes: Uint8Array): void {
    this.#methods.get().then(
      (methods) => methods.get(this.#path)?.arrived(exchange, bytes),
      (thrown: unknown) => {
        const { logger, name: method } = this.#options;
        exchange.fail(statusOf(failureOf(thrown, { client: exchange, logger, binding: exchange.binding, method })));
      },
    );
  }
}

/** A method answered by `invoke`. */
class CallMethod implements ServedMethod, Request {
  readonly version: string;
  readonly maxBytes: number;
  readonly #method: DescMethod;
  readonly #options: ServiceBindingOptions;
  readonly #limits: Limits;
  readonly #read: (bytes: Uint8Array) => Message;
  readonly #write: (message: Message) => Uint8Array;

  constructor(method: DescMethod, options: ServiceBindingOptions) {
    this.version = options.version;
    this.maxBytes = options.limits.maxRequestBytes;
    this.#method = method;
    this.#options = options;
    this.#limits = options.limits;
    this.#read = requestReader(method.input);
    this.#write = envelopeWriter(method.output);
  }

  begin(exchange: GrpcExchange, rules: GrpcRequestRules): void {
    readRequest(exchange, this, rules);
  }

  arrived(exchange: GrpcExchange, bytes: Uint8Array): void {
    if (this.#options.onRejection !== undefined) noteCalled(exchange.stream);
    let request: Message;
    try {
      request = this.#read(bytes);
    } catch (thrown) {
      this.#refuse(exchange, toA2AError(thrown));
      return;
    }
    void this.#answer(exchange, request);
  }

  async #answer(exchange: GrpcExchange, request: Message): Promise<void> {
    const call = new Call(exchange);
    try {
      const answer = await this.#options.invoke({ method: this.#method, request, call });
      if (this.#method.methodKind === "unary") {
        const message = unaryAnswer(answer);
        if (weightOf(message) === undefined) exchange.reply(this.#write(message), call.answerHeaders);
        else await this.#large(exchange, call, message);
      } else await writeAll(streamAnswer(answer), this.#sinkOf(exchange, call));
    } catch (thrown) {
      this.#fail(exchange, call, thrown);
    }
  }

  /** Answers with a large message. @throws the errors of an ordinary answer, before anything is written */
  async #large(exchange: GrpcExchange, call: Call, answer: Message): Promise<void> {
    try {
      const pieces = await largeEnvelope(this.#method.output, answer, { call, limits: this.#limits });
      if (exchange.isOver) return;
      const writer = new NodeWriter(exchange.stream);
      await exchange.writeLarge(call.responseHeaders, () => writePieces(writer, pieces));
      exchange.end();
    } finally {
      call.written?.();
    }
  }

  #sinkOf(exchange: GrpcExchange, call: Call): MessageSink {
    return new MessageSink(exchange, {
      call,
      desc: this.#method.output,
      write: this.#write,
      limits: this.#limits,
      logger: this.#options.logger,
    });
  }

  #fail(exchange: GrpcExchange, call: Call, thrown: unknown): void {
    const { logger } = this.#options;
    try {
      const context = { client: exchange, logger, binding: exchange.binding, method: this.#method.name, call };
      exchange.fail(statusOf(failureOf(thrown, context), this.#options.codes), call.answerHeaders);
    } catch (fault) {
      // An unhandled rejection would end the process.
      logger.error({ err: fault, ...logFacts(call) }, "a call of gRPC could not be answered");
      exchange.breakOff();
    }
  }

  /** Rejects a call whose request could not be read. */
  #refuse(exchange: GrpcExchange, error: A2AError): void {
    const { binding } = exchange;
    this.#options.onRejection?.({ binding, method: this.#method.name, code: error.reason, ms: 0, from: exchange });
    this.#options.counted?.(error.reason);
    exchange.fail(statusOf(error, this.#options.codes));
  }
}
