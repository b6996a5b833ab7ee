import { type DescMethod, type DescService, fromBinary, type Message, toBinary } from "@bufbuild/protobuf";
import type {
  MethodDefinition,
  ServerDuplexStream,
  ServerWritableStream,
  ServiceDefinition,
  sendUnaryData,
  UntypedHandleCall,
  UntypedServiceImplementation,
} from "@grpc/grpc-js";
import { Health } from "./health.js";
import { type InternalMethod, type InternalService, Refusal } from "./internal-service.js";
import { reflectionServices } from "./reflection.js";

export interface InfrastructureOptions {
  readonly service: DescService;
  /** Services beside it, such as those of other versions. */
  readonly others?: readonly DescService[];
  /** Server reflection, v1 and v1alpha. Default true. */
  readonly reflection?: boolean | undefined;
}

/** A service ready to be added to a server of grpc-js. */
export interface GrpcService {
  readonly definition: ServiceDefinition;
  readonly implementation: UntypedServiceImplementation;
}

/**
 * The services that serve the server itself: its health, and its descriptors by reflection. Clients keep their streams
 * open for as long as they are connected, so a server that waited for them would never drain.
 */
export class InternalServices {
  readonly services: readonly InternalService[];
  readonly #open = new Set<() => void>();
  readonly #health: Health;

  constructor({ service, others = [], reflection = true }: InfrastructureOptions) {
    const served = [service, ...others];
    this.#health = new Health(["", ...served.map(({ typeName }) => typeName)]);
    const health = this.#health.service;
    this.services = [health, ...(reflection ? reflectionServices([...served, health.service]) : [])];
  }

  /** What the health service says of the server as a whole and of its service. It begins with true. */
  setServing(serving: boolean): void {
    this.#health.setServing(serving);
  }

  /** Notes a stream that is open, by what ends it, until what this returns is called. */
  opened(end: () => void): () => void {
    this.#open.add(end);
    return () => void this.#open.delete(end);
  }

  /** Ends all open streams. */
  end(): void {
    for (const end of [...this.#open]) end();
  }

  /** To be added to a server of grpc-js. */
  forGrpc(): GrpcService[] {
    return this.services.map(({ service, methods }) => ({
      definition: Object.fromEntries(service.methods.map((method) => [method.name, definitionOf(method)])),
      implementation: Object.fromEntries(
        Object.entries(methods).map(([name, method]) => [name, handlerOf(method, this)]),
      ),
    }));
  }
}

function definitionOf(method: DescMethod): MethodDefinition<Message, Message> {
  const { input, output, methodKind: kind } = method;
  return {
    path: `/${method.parent.typeName}/${method.name}`,
    requestStream: kind === "client_streaming" || kind === "bidi_streaming",
    responseStream: kind === "server_streaming" || kind === "bidi_streaming",
    requestSerialize: (message) => Buffer.from(toBinary(input, message)),
    requestDeserialize: (bytes) => fromBinary(input, bytes),
    responseSerialize: (message) => Buffer.from(toBinary(output, message)),
    responseDeserialize: (bytes) => fromBinary(output, bytes),
  };
}

function handlerOf(method: InternalMethod, all: InternalServices): UntypedHandleCall {
  switch (method.kind) {
    case "unary":
      return ({ request }: { request: Message }, callback: sendUnaryData<Message>) => {
        try {
          callback(null, method.answer(request));
        } catch (error) {
          if (!(error instanceof Refusal)) throw error;
          callback({ code: error.code, details: error.message });
        }
      };
    case "server_streaming":
      return (call: ServerWritableStream<Message, Message>) => {
        const stop = method.watch(call.request, (answer) => call.write(answer));
        untilOver(call, all, stop);
      };
    case "bidi_streaming":
      return (call: ServerDuplexStream<Message, Message>) => {
        call.on("data", (request: Message) => {
          // The next question is taken when this answer has left.
          if (call.write(method.answer(request))) return;
          call.pause();
          call.once("drain", () => call.resume());
        });
        call.on("end", () => call.end());
        untilOver(call, all);
      };
  }
}

function untilOver(
  call: { end(): void; once(event: "cancelled", then: () => void): void },
  all: InternalServices,
  stop?: () => void,
): void {
  const close = all.opened(() => call.end());
  // grpc-js says so at the end of every call, however it ended.
  call.once("cancelled", () => {
    close();
    stop?.();
  });
}
