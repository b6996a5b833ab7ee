import type { DescService } from "@bufbuild/protobuf";
import type { Reason, StatusCode } from "../core/error.js";
import type { Serve } from "./serve.js";

/** A method of a service that is not loaded yet, by what bindings need before its first call. */
export interface LazyMethod {
  readonly name: string;
  /** Whether it answers with a stream. */
  readonly isStream: boolean;
  /** Whether it only reads, as `isSideEffectFree` says of its descriptor. */
  readonly isRead: boolean;
}

/**
 * A service of gRPC and Connect whose messages, and what translates them, are loaded with its first call: a server that nobody calls
 * in that version neither waits for them nor holds them.
 */
export interface LazyService {
  /** Full name of the service. */
  readonly typeName: string;
  readonly methods: readonly LazyMethod[];
  /** Called with the first call, and again after it has failed. */
  readonly load: () => Promise<LoadedService>;
}

/** Status codes of errors that differ from those of the service itself. */
export type ErrorCodes = Readonly<Partial<Record<Reason, StatusCode>>>;

/** What is loaded. */
export interface LoadedService {
  readonly service: DescService;
  /** See `Dialects.translate`; it is given the service's own descriptors and messages. */
  readonly translate: (service: Serve) => Serve;
  readonly codes?: ErrorCodes;
}

/** Whether a service is one that is loaded when it is called. */
export function isLazy(service: DescService | LazyService): service is LazyService {
  return "load" in service;
}
