import type { DescService } from "@bufbuild/protobuf";
import type { Task, TaskPushNotificationConfig } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { Reason, StatusCode } from "../core/error.js";
import { isSideEffectFree } from "../wire/field-rules.js";
import type { CardJson } from "./card-json.js";
import type { JsonRpcDialect } from "./jsonrpc.js";
import type { RestDialect } from "./rest.js";
import type { Serve } from "./serve.js";

/** How a version is spoken: codecs and behaviour. Those of versions beside the service's own are loaded later. */
export interface Dialects {
  readonly jsonRpc?: JsonRpcDialect;
  readonly rest?: RestDialect;
  /**
   * Makes what answers calls of this version out of the service: its requests become those of the service, and answers
   * come back. Applied once, when a binding first needs it; it runs around everything, so that each call is authenticated, counted and
   * checked as those of the service are. Errors pass as they are, and the dialects write them.
   *
   * What it answers is the service's message as it is, or one of its own: those of a stream are shared with readers of other
   * versions, and keep the JSON that they were written in. `carry` takes over the marks on them. Undefined: calls are
   * those of the service.
   *
   * @param spoken names of the versions that the server speaks
   */
  readonly translate?: (service: Serve, spoken: readonly string[]) => Serve;
}

/** A method of a service that is not loaded yet: the properties that bindings need before the first call. */
export interface MethodShape {
  readonly name: string;
  /** True if it returns a stream. */
  readonly isStream: boolean;
  /** True if it only reads, as `isSideEffectFree` of its descriptor. */
  readonly isRead: boolean;
}

/** A service of gRPC and Connect that is not loaded yet. */
export interface ServiceShape {
  /** Full name of the service. */
  readonly typeName: string;
  readonly methods: readonly MethodShape[];
}

/** The shape of a service whose descriptor is there already. */
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
  /** See `Dialects.translate`; it is given the service's own descriptors and messages. */
  readonly translate: (service: Serve) => Serve;
  readonly codes?: ErrorCodes;
}

/** All parts of a version that are loaded together. */
export interface LoadedVersion extends Dialects {
  /** Its service for gRPC and Connect, where it has one (`ProtocolVersion.grpc`). */
  readonly service?: LoadedService;
  /** Its push notifications; undefined for a version that sends those of the service's own version, or none. */
  readonly push?: PushDialect;
}

/** Bindings that a version can be spoken over. */
export type SpokenOver = "jsonRpc" | "rest" | "grpc" | "connect";

/**
 * A version besides the service's own, as known before its first call: small tables that recognise its calls, and a
 * loader for the rest.
 */
export interface ProtocolVersion {
  /** `Major.Minor`, as cards and `A2A-Version` name it (specification 3.6). */
  readonly name: string;
  /** The bindings of its interfaces in a card. */
  readonly interfaces: readonly SpokenOver[];
  /**
   * True for a version from before `A2A-Version`: its calls name no version, and an empty value means it as well
   * (specification 3.6.2).
   */
  readonly isUnnamed?: boolean;
  /** Its JSON-RPC method names, with their names in the service. */
  readonly methods?: Readonly<Record<string, string>>;
  /** Prefix of its HTTP+JSON paths. A request under it that names no version belongs to this version. */
  readonly paths?: readonly string[];
  /** The service that gRPC serves it by: the binding is the same, with another descriptor. */
  readonly grpc?: ServiceShape;
  /** The same for Connect and gRPC-Web. */
  readonly connect?: ServiceShape;
  /** True for the service's own version with additional fields: cards and notifications are equal in both. */
  readonly extendsNative?: boolean;
  /** Its cards; undefined for a version that reads those of the service's own. */
  readonly card?: CardDialect;
  /** True if its clients look for the extended card next to the agent's URL, not below it. */
  readonly hasCardBeside?: boolean;
  /** Its name of the parameter `A2A-Extensions`, in lower case, if it differs from 1.0. */
  readonly extensionsParameter?: string;
  /** True if a JWT signs its push notifications, for which every server has a key (`PushDialect.isSigned`). */
  readonly signsPush?: boolean;
  /** Loads all other parts of it. Called again after it has failed (`Versions.ready`). */
  readonly load: () => Promise<LoadedVersion>;
}

/** The version that the service itself speaks, which every binding has. */
export interface NativeVersion extends Required<Omit<Dialects, "translate">> {
  readonly name: string;
  readonly grpc: DescService;
  readonly connect: DescService;
}

/** Cards of another protocol version. */
export interface CardDialect {
  /** Where its clients look for a card, below the root of a host or below `/{tenant}`. */
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
  /** The body. */
  readonly write: (task: Task) => string;
  /** Says whether a configuration asks for signed posts: these have the signature as their bearer token, in place of credentials. */
  readonly isSigned?: (config: TaskPushNotificationConfig) => boolean;
}
