import { EventEmitter } from "node:events";
import { create, createFileRegistry, type DescMethod, fromBinary, type Message, toBinary } from "@bufbuild/protobuf";
import { type FileDescriptorProto, FileDescriptorProtoSchema, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { ConnectError, type ConnectRouter, type HandlerContext, type MethodImpl } from "@connectrpc/connect";
import type { MethodDefinition, UntypedHandleCall } from "@grpc/grpc-js";
import type { InternalServices } from "./internal-services.js";
import { nameMapEntries } from "./map-entry.js";
import { qualifyNames } from "./qualified-names.js";
import { filesOf } from "./reflection.js";
import type { GrpcService } from "./service.js";

/** The largest question to one of these services, in bytes. */
const MAX_QUESTION_BYTES = 64 * 1024;

/**
 * Registers health and reflection with a ConnectRouter, so that they are served beside a service that is: by gRPC,
 * gRPC-Web and Connect. They are those of the gRPC port, down to their state.
 */
export function infrastructureRoutes({ services }: InternalServices): (router: ConnectRouter) => void {
  return (router) => {
    for (const service of services) register(router, service);
  };
}

function register(router: ConnectRouter, { definition, implementation }: GrpcService): void {
  const file = filesOf(definition).map((bytes) => fileOf(bytes));
  const registry = createFileRegistry(create(FileDescriptorSetSchema, { file: unique(file) }));
  for (const method of Object.values(definition)) {
    const [, service = "", name = ""] = method.path.split("/");
    const desc = registry.getService(service)?.methods.find((each) => each.name === name);
    const handler = implementation[name] ?? implementation[method.originalName ?? ""];
    if (desc === undefined || handler === undefined) continue;
    router.rpc(desc, bridge(desc, method, handler), { readMaxBytes: MAX_QUESTION_BYTES });
  }
}

function fileOf(bytes: Uint8Array): FileDescriptorProto {
  return qualifyNames(nameMapEntries(fromBinary(FileDescriptorProtoSchema, bytes)));
}

function unique<T extends { readonly name: string }>(files: readonly T[]): T[] {
  return [...new Map(files.map((file) => [file.name, file])).values()];
}

/** A handler as grpc-js has it, as Connect has it: their messages differ, and the bytes of them are the same. */
function bridge(
  desc: DescMethod,
  method: MethodDefinition<unknown, unknown>,
  handler: UntypedHandleCall,
): MethodImpl<DescMethod> {
  const read = (request: Message): unknown => method.requestDeserialize(Buffer.from(toBinary(desc.input, request)));
  const write = (answer: unknown): Message => fromBinary(desc.output, method.responseSerialize(answer));
  const run = (call: unknown, ...rest: unknown[]): void => Reflect.apply(handler, undefined, [call, ...rest]);
  const unary = (request: Message): Promise<Message> =>
    new Promise((resolve, reject) => {
      run({ request: read(request) }, (error: { code: number; details: string } | null, answer: unknown) => {
        if (error) reject(new ConnectError(error.details, error.code));
        else resolve(write(answer));
      });
    });
  const serverStreaming = (request: Message, { signal }: HandlerContext): AsyncIterable<Message> => {
    const call = new BridgedCall(signal, read(request));
    run(call);
    return call.answers(write);
  };
  const bidi = (requests: AsyncIterable<Message>, { signal }: HandlerContext): AsyncIterable<Message> => {
    const call = new BridgedCall(signal, undefined);
    run(call);
    return call.conversation(requests, read, write);
  };
  const kinds = { unary, server_streaming: serverStreaming, bidi_streaming: bidi, client_streaming: undefined };
  // Which kind fits is told by the descriptor, which is not known before run time.
  return kinds[desc.methodKind] as unknown as MethodImpl<DescMethod>;
}

/** A streaming call as handlers of grpc-js know it, as far as those of health and reflection do. */
class BridgedCall extends EventEmitter {
  readonly request: unknown;
  readonly #written: unknown[] = [];
  #isOver = false;
  #wake: () => void = () => {};

  constructor(signal: AbortSignal, request: unknown) {
    super();
    this.request = request;
    signal.addEventListener("abort", () => this.end(), { once: true });
  }

  write(answer: unknown): boolean {
    this.#written.push(answer);
    this.#wake();
    return true;
  }

  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.emit("cancelled", "cancelled");
    this.#wake();
  }

  /** What is written, until the end. */
  async *answers(write: (answer: unknown) => Message): AsyncGenerator<Message> {
    try {
      for (;;) {
        for (const answer of this.#written.splice(0)) yield write(answer);
        if (this.#isOver) return;
        if (this.#written.length === 0) await this.#news();
      }
    } finally {
      this.end();
    }
  }

  /** What is written to each request; the next one is taken when its answer has left. */
  async *conversation(
    requests: AsyncIterable<Message>,
    read: (request: Message) => unknown,
    write: (answer: unknown) => Message,
  ): AsyncGenerator<Message> {
    const iterator = requests[Symbol.asyncIterator]();
    try {
      for (;;) {
        const next = await Promise.race([iterator.next(), this.#end()]);
        if (next === undefined || next.done === true) return;
        this.emit("data", read(next.value));
        for (const answer of this.#written.splice(0)) yield write(answer);
      }
    } finally {
      this.end();
    }
  }

  #news(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  async #end(): Promise<undefined> {
    while (!this.#isOver) await this.#news();
    return undefined;
  }
}
