import type { DescService } from "@bufbuild/protobuf";
import type { Task, TaskPushNotificationConfig } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { Reason, StatusCode } from "../core/error.js";
import type { TaskNames } from "../task/task-names.js";
import { isSideEffectFree } from "../wire/field-rules.js";
import type { CardJson } from "./card-json.js";
import type { JsonRpcDialect } from "./jsonrpc.js";
import type { MethodHandler } from "./method-handler.js";
import type { RestDialect } from "./rest.js";

/** The codecs and behavior of a version. Those of versions other than the service's own are loaded later. */
export interface Dialects {
  readonly jsonRpc?: JsonRpcDialect;
  readonly rest?: RestDialect;
  /**
   * Wraps the service for calls of this version: it converts their requests to the service's and the answers back.
   * Applied once, when a binding first needs it. It runs outside the interceptors, so that each call is authenticated,
   * counted and checked like those of the service. Errors pass unchanged, and the dialects write them.
   *
   * An answer is either the service's message itself or a new one, because readers of other versions share the messages
   * of a stream and their cached JSON. `carry` copies the marks to a new one. Undefined if calls equal those of the
   * service.
   *
   * @param supported names of the versions that the server supports
   */
  readonly translate?: (service: MethodHandler, supported: readonly string[]) => MethodHandler;
}

/** A method of a service that is not loaded yet: the properties that bindings need before the first call. */
export interface MethodShape {
  readonly name: string;
  /** True if it returns a stream. */
  readonly isStream: boolean;
  /** True if it is read-only, like `isSideEffectFree` of its descriptor. */
  readonly isRead: boolean;
}

/** A service of gRPC and Connect that is not loaded yet. */
export interface ServiceShape {
  /** Full name of the service. */
  readonly typeName: string;
  readonly methods: readonly MethodShape[];
}

/** Returns the shape of a service whose descriptor is loaded. */
export function shapeOf({ typeName, methods }: DescService): ServiceShape {
  return {
    typeName,
    methods: methods.map((method) => ({
      name: method.name,
      isStream: method.methodKind === "server_streaming",
      isRead: isSideEffectFree(method),
    })),
  };
}

/** Status codes of errors that differ from those of the service itself. */
export type ErrorCodes = Readonly<Partial<Record<Reason, StatusCode>>>;

/** A service of gRPC and Connect with its messages. */
export interface LoadedService {
  readonly service: DescService;
  /** See `Dialects.translate`. It receives the service's own descriptors and messages. */
  readonly translate: (service: MethodHandler) => MethodHandler;
  readonly codes?: ErrorCodes;
}

/** All parts of a version that load together. */
export interface LoadedVersion extends Dialects {
  /** Its service for gRPC and Connect, if it has one (`ProtocolVersion.grpc`). */
  readonly service?: LoadedService;
  /** Its push notifications. Undefined for a version without any, or with those of the service's own version. */
  readonly push?: PushDialect;
}

/** Bindings that a version can support. */
export type BindingKey = "jsonRpc" | "rest" | "grpc" | "connect";

/**
 * A version other than the service's own, as known before its first call: small tables that recognize its calls, and a
 * loader for the rest.
 */
export interface ProtocolVersion {
  /** `Major.Minor`, as in cards and `A2A-Version` (specification 3.6). */
  readonly name: string;
  /** The bindings of its interfaces in a card. */
  readonly interfaces: readonly BindingKey[];
  /**
   * True for a version older than `A2A-Version`: its calls name no version, and an empty value also means it
   * (specification 3.6.2).
   */
  readonly isUnnamed?: boolean;
  /** Its JSON-RPC method names, with their names in the service. */
  readonly methods?: Readonly<Record<string, string>>;
  /** Prefix of its HTTP+JSON paths. A request under it that names no version belongs to this version. */
  readonly paths?: readonly string[];
  /** Its gRPC service: the binding is the same, with another descriptor. */
  readonly grpc?: ServiceShape;
  /** The same for Connect and gRPC-Web. */
  readonly connect?: ServiceShape;
  /** True for the service's own version with additional fields: cards and notifications are equal in both. */
  readonly extendsNative?: boolean;
  /** Its cards. Undefined for a version that reads those of the service's own version. */
  readonly card?: CardDialect;
  /** True if its clients look for the extended card next to the agent's URL instead of below it. */
  readonly hasCardBeside?: boolean;
  /** Its name of the parameter `A2A-Extensions`, in lower case, if it differs from 1.0. */
  readonly extensionsParameter?: string;
  /**
   * Creates the names of tasks, for a version whose clients choose them.
   *
   * @param maxReopens maximum number of times that a message to a finished task creates another one under its name
   * @param keepsAll true if finished tasks are kept without limit
   */
  readonly taskNames?: (maxReopens: number, keepsAll: boolean) => TaskNames;
  /** True if it signs push notifications with a JWT, for which every server has a key (`PushDialect.isSigned`). */
  readonly signsPush?: boolean;
  /** A request that sends a message, for commands that people copy; undefined for one like that of 1.0. */
  readonly example?: Example;
  /** Loads all other parts. Called again after a failure (`Versions.ready`). */
  readonly load: () => Promise<LoadedVersion>;
}

/** The service's own version, which every binding supports. */
export interface NativeVersion extends Required<Omit<Dialects, "translate">> {
  readonly name: string;
  readonly grpc: DescService;
  readonly connect: DescService;
}

/** A request that sends the message "hello". */
interface Example {
  /** The params of JSON-RPC. */
  readonly params: object;
  /** The message of its contract, for bindings other than JSON-RPC. */
  readonly body?: object;
}

/** Cards of another protocol version. */
export interface CardDialect {
  /** Path of its cards, below the root of a host or below `/{tenant}`. */
  readonly path: string;
  /** True if its cards have signatures. */
  readonly isSigned: boolean;
  readonly load: () => Promise<CardConversions>;
}

/** Conversions of the JSON of a card of the service's own version, which names the interfaces of all versions. */
export interface CardConversions {
  /** Returns the card of this version; undefined for one that it cannot express. */
  readonly convert: (card: CardJson) => CardJson | undefined;
  /** Returns a card for clients of both versions, for a version that looks for its cards at the path of the service's own. */
  readonly inBoth?: (card: CardJson) => CardJson | undefined;
}

/** Push notifications of another protocol version: the task as of the event, instead of the event. */
export interface PushDialect {
  readonly mediaType: string;
  /** Writes the body. */
  readonly write: (task: Task) => string;
  /**
   * Returns true if a configuration requests signed notifications. They carry the signature as their bearer token, in
   * place of credentials.
   */
  readonly isSigned?: (config: TaskPushNotificationConfig) => boolean;
}
