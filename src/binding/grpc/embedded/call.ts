import type { Metadata, MetadataValue, ServerUnaryCall, ServerWritableStream, StatusObject } from "@grpc/grpc-js";
import type { Cancellation } from "../../../core/async.js";
import type { Call, CallStart, Peer } from "../../../core/call.js";
import type { A2AError } from "../../../core/error.js";
import { REQUEST_ID_HEADER, requestIdOf } from "../../../core/ids.js";
import { cancellationReason } from "../../deadline.js";
import { DETAILS_TRAILER, type GrpcStatus, legalOf } from "../error.js";
import type { DecodedRequest } from "./definition.js";

/** A grpc-js call of a unary method. The answer is passed as bytes; see `encode()`. */
export type UnaryCall = ServerUnaryCall<DecodedRequest, Buffer>;

/** A grpc-js call of a server-streaming method. */
export type StreamCall = ServerWritableStream<DecodedRequest, Buffer>;

/** The facts that gRPC provides about a call. Cheap to create: the signal is created on first use. */
export class GrpcCallStart implements CallStart, Cancellation {
  readonly binding = "grpc";
  /** Version implied by the package of the service (specification 3.6.2, 10.1). */
  readonly impliedVersion: string;
  readonly #grpc: UnaryCall | StreamCall;
  readonly #encrypted: boolean;
  /** Read several times in every call. `Metadata.get()` would check the name each time. */
  readonly #metadata: Record<string, MetadataValue[]>;
  #controller: AbortController | undefined;
  #finished = false;
  #requestId: string | undefined;

  constructor(grpc: UnaryCall | StreamCall, encrypted: boolean, impliedVersion: string) {
    this.impliedVersion = impliedVersion;
    this.#grpc = grpc;
    this.#encrypted = encrypted;
    this.#metadata = grpc.metadata.toJSON() as Record<string, MetadataValue[]>;
  }

  header(name: string): string | undefined {
    return name === ":authority" ? this.#grpc.getHost() : asciiMetadata(this.#metadata[name]);
  }

  get requestId(): string {
    this.#requestId ??= requestIdOf(this.header(REQUEST_ID_HEADER));
    return this.#requestId;
  }

  get peer(): Peer {
    const peer = this.#grpc.getPeer();
    const port = /:(\d+)$/.exec(peer)?.[1];
    return { address: addressOf(peer), encrypted: this.#encrypted, ...(port !== undefined && { port: Number(port) }) };
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.canceled) this.#abort();
      else this.#grpc.once("cancelled", () => this.#abort());
    }
    return this.#controller.signal;
  }

  get deadline(): number {
    return Number(this.#grpc.getDeadline());
  }

  get cancellation(): Cancellation {
    return this;
  }

  onCancel(callback: () => void): () => void {
    this.onEnd(callback);
    return () => this.#grpc.off("cancelled", callback);
  }

  /** True if the client left, or its deadline passed, before it had its answer. */
  get canceled(): boolean {
    return this.#grpc.cancelled && !this.#finished;
  }

  /** The cause of the cancellation. */
  get reason(): A2AError {
    return cancellationReason(this.deadline);
  }

  /** Marks the call as answered, because grpc-js reports the end of an answered call as a cancellation too. */
  finish(): void {
    this.#finished = true;
  }

  /** Calls back at the end of the call, answered or canceled: when grpc-js holds nothing for it anymore. */
  onEnd(callback: () => void): void {
    if (this.#grpc.cancelled) callback();
    else this.#grpc.once("cancelled", callback);
  }

  #abort(): void {
    if (!this.#finished) this.#controller?.abort(this.reason);
  }
}

/**
 * Returns the address in the result of `getPeer()`: `1.2.3.4:5`, `ipv4:1.2.3.4:5`, `ipv6:[::1]:5`, or `::1:5`, whose
 * port follows the last colon. An IPv4-mapped IPv6 address is returned as IPv4. Empty without an address.
 */
export function addressOf(peer: string): string {
  if (peer === "unknown" || peer.startsWith("unix:")) return "";
  const text = peer.replace(/^ipv[46]:/, "");
  const bracketed = /^\[([^\]]*)\]/.exec(text)?.[1];
  const address = bracketed ?? text.replace(/:\d+$/, "");
  return address.replace(/^::ffff:(?=\d+\.)/i, "");
}

/** Returns metadata as text. Binary metadata is not a header of the protocol (specification 3.2.6, 10.2). */
function asciiMetadata(values: readonly MetadataValue[] | undefined): string | undefined {
  if (values === undefined || values.length === 0 || typeof values[0] !== "string") return undefined;
  return values.length === 1 ? values[0] : values.join(", ");
}

/** Sends the response's headers with the request id. Further calls do nothing. */
export function sendHeaders(grpc: UnaryCall | StreamCall, call: Call): void {
  grpc.sendMetadata(metadataFor(grpc, [[REQUEST_ID_HEADER, call.requestId], ...legalOf(call.answerHeaders)]));
}

/** Converts a status to that of grpc-js. */
export function statusFor(grpc: UnaryCall | StreamCall, { code, message, headers, details }: GrpcStatus): StatusObject {
  const metadata = metadataFor(grpc, headers);
  if (details !== undefined) metadata.set(DETAILS_TRAILER, Buffer.from(details));
  return { code, details: message, metadata };
}

/**
 * Creates metadata of the same class as the call's own. A program may contain several copies of grpc-js, and Parley
 * depends on none.
 */
function metadataFor(grpc: UnaryCall | StreamCall, headers: Iterable<[string, string]> = []): Metadata {
  const metadata = Reflect.construct(grpc.metadata.constructor, []) as Metadata;
  for (const [name, value] of headers) metadata.set(name, value);
  return metadata;
}
