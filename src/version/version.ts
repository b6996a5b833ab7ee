import type { DescService } from "@bufbuild/protobuf";
import type { Task, TaskPushNotificationConfig } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { JsonRpcDialect } from "./jsonrpc.js";
import type { LazyService } from "./lazy-service.js";
import type { RestDialect } from "./rest.js";
import type { Serve } from "./serve.js";

/** How a version is spoken: codecs and behaviour. Of versions beside the service's own it is loaded with the first call of one. */
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

/** Bindings that a version can be spoken over. */
export type SpokenOver = "jsonRpc" | "rest" | "grpc" | "connect";

/**
 * A version beside that of the service, by what is known of it before anybody calls it: small tables by which its calls are
 * recognised, and where the rest is loaded from.
 */
export interface ProtocolVersion {
  /** `Major.Minor`, as cards and `A2A-Version` name it (specification 3.6). */
  readonly name: string;
  /** The bindings of its interfaces in a card. */
  readonly interfaces: readonly SpokenOver[];
  /**
   * Whether it is one of those from before `A2A-Version`: its calls name no version, and an empty value stands for them as well
   * (specification 3.6.2).
   */
  readonly isUnnamed?: boolean;
  /** Names of its methods over JSON-RPC, with the name of what they are called in the service. */
  readonly methods?: Readonly<Record<string, string>>;
  /** What its paths over HTTP+JSON begin with. A request that names no version is one of its own there. */
  readonly paths?: readonly string[];
  /** The service that gRPC serves it by: the binding is the same, with another descriptor. A lazy one brings a translator along. */
  readonly grpc?: DescService | LazyService;
  /** The same for Connect and gRPC-Web. */
  readonly connect?: DescService | LazyService;
  /** Whether it is the service's own version with a few fields more: cards and notifications are the same in both. */
  readonly extendsNative?: boolean;
  /** Whether its clients look for the extended card beside the URL of the agent, not below it. */
  readonly hasCardBeside?: boolean;
  /** What it calls the parameter `A2A-Extensions`, in lower case, where that is not what 1.0 calls it. */
  readonly extensionsParameter?: string;
  /** Whether its push notifications are signed by a JWT, for which every server has a key (`PushDialect.isSigned`). */
  readonly signsPush?: boolean;
  /** Loads what its push notifications look like; without it there are none. */
  readonly push?: () => Promise<PushDialect>;
  /** Loads how it is spoken. Called for the first call, and again after it has failed. */
  readonly load: () => Promise<Dialects>;
}

/** The version that the service itself speaks, which every binding has. */
export interface NativeVersion extends Required<Omit<Dialects, "translate">> {
  readonly name: string;
  readonly grpc: DescService;
  readonly connect: DescService;
}

/**
 * What the notifications of another version of the protocol look like: its task as of the event, where the service's own version
 * sends the event.
 */
export interface PushDialect {
  readonly mediaType: string;
  /** The body. */
  readonly write: (task: Task) => string;
  /** Says whether a configuration asks for signed posts: these have the signature as their bearer token, in place of credentials. */
  readonly isSigned?: (config: TaskPushNotificationConfig) => boolean;
}
