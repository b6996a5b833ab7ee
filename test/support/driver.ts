import type { DescMethod, JsonObject } from "@bufbuild/protobuf";
import { A2AService } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { HeaderInput } from "./http.js";
import { type WireError, WireFailure } from "./wire-error.js";

/** Names of the bindings; `grpc-http` is gRPC as the HTTP port speaks it. */
export type BindingName = "grpc" | "grpc-http" | "connect" | "grpc-web" | "jsonrpc" | "rest";

/** Address of a server. */
export interface Address {
  /** URL of the HTTP port, without a slash at the end. */
  readonly url: string;
  readonly grpcPort: number;
  /** Default: this machine. */
  readonly grpcHost?: string;
  /** Takes requests in the place of a port. */
  readonly fetch?: (request: Request) => Promise<Response>;
}

export interface CallOptions {
  /** Headers or metadata. `A2A-Version: 1.0` is sent unless it is given here; null sends none. */
  readonly headers?: HeaderInput;
  /** Query parameters of the URL, on the bindings whose URL a client writes itself: jsonrpc and rest. */
  readonly query?: Readonly<Record<string, string>>;
  /** Deadline, on the bindings that have one: grpc, connect, grpc-web. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

/** One binding as a client speaks it. A call that is answered with an error throws a WireFailure. */
export interface Wire {
  readonly name: BindingName;
  /** Makes a unary call. Request and answer are ProtoJSON; the answer omits default values. */
  unary(method: DescMethod, request: JsonObject, options: CallOptions): Promise<WireAnswer>;
  /** A streaming call; resolves when the stream has begun. Leaving the loop over its messages hangs up. */
  stream(method: DescMethod, request: JsonObject, options: CallOptions): Promise<WireStream>;
  close(): void;
}

export interface WireAnswer {
  readonly message: JsonObject;
  /** Headers and trailers by lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
}

export interface WireStream {
  readonly headers: Readonly<Record<string, string>>;
  readonly messages: AsyncIterable<JsonObject>;
}

/** The answer to a unary call: a message or an error. */
export interface Reply {
  readonly message?: JsonObject;
  readonly error?: WireError;
  readonly headers: Readonly<Record<string, string>>;
}

/** The answer to a streaming call, read to its end. */
export interface StreamReply {
  readonly messages: readonly JsonObject[];
  readonly error?: WireError;
  readonly headers: Readonly<Record<string, string>>;
}

/** Next item of a stream: a message, the error it ends with, or its end. */
export type StreamItem = { readonly message: JsonObject } | { readonly error: WireError } | { readonly end: true };

/** A stream that is being read. */
export class OpenStream {
  headers: Readonly<Record<string, string>> = {};
  readonly #hangUp = new AbortController();
  readonly #messages: AsyncGenerator<JsonObject>;

  constructor(begin: (signal: AbortSignal) => Promise<WireStream>, outer: AbortSignal | undefined) {
    const { signal } = this.#hangUp;
    this.#messages = this.#read(() => begin(outer === undefined ? signal : AbortSignal.any([outer, signal])));
  }

  /** The next message; after an error or the end, the end again. */
  async next(): Promise<StreamItem> {
    try {
      const { done, value } = await this.#messages.next();
      return done === true ? { end: true } : { message: value };
    } catch (error) {
      if (this.#hangUp.signal.aborted) return { end: true };
      if (!(error instanceof WireFailure)) throw error;
      this.headers = { ...this.headers, ...error.headers };
      return { error: error.error };
    }
  }

  /** Everything that is left, to the end. */
  async rest(): Promise<StreamReply> {
    const messages: JsonObject[] = [];
    for (;;) {
      const item = await this.next();
      if ("message" in item) messages.push(item.message);
      else return { messages, headers: this.headers, ...("error" in item ? { error: item.error } : {}) };
    }
  }

  /** Closes the stream, like a client that closes its tab. */
  hangUp(): void {
    this.#hangUp.abort();
  }

  async *#read(begin: () => Promise<WireStream>): AsyncGenerator<JsonObject> {
    const { headers, messages } = await begin();
    this.headers = headers;
    yield* messages;
  }
}

/** Calls a server over one binding, in the same way over each. */
export interface Driver {
  readonly name: BindingName;
  call(rpc: string, request: JsonObject, options?: CallOptions): Promise<Reply>;
  stream(rpc: string, request: JsonObject, options?: CallOptions): OpenStream;
  close(): void;
}

/** The driver of a binding. */
export function driverOf(wire: Wire): Driver {
  return {
    name: wire.name,
    close: () => wire.close(),
    async call(rpc, request, options = {}) {
      try {
        return await wire.unary(methodOf(rpc), request, withVersion(options));
      } catch (error) {
        if (error instanceof WireFailure) return { error: error.error, headers: error.headers };
        throw error;
      }
    },
    stream(rpc, request, options = {}) {
      const begin = (signal: AbortSignal): Promise<WireStream> =>
        wire.stream(methodOf(rpc), request, withVersion({ ...options, signal }));
      return new OpenStream(begin, options.signal);
    },
  };
}

/** The method of the contract with this name. */
export function methodOf(rpc: string): DescMethod {
  const method = A2AService.methods.find(({ name }) => name === rpc);
  if (method === undefined) throw new Error(`The contract has no rpc ${rpc}.`);
  return method;
}

function withVersion(options: CallOptions): CallOptions {
  const names = Object.keys(options.headers ?? {}).map((name) => name.toLowerCase());
  if (names.includes("a2a-version")) return options;
  return { ...options, headers: { "A2A-Version": "1.0", ...options.headers } };
}
