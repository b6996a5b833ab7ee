import type { AgentCard, AgentInterface } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { Audit } from "../audit/audit.js";
import type { Authenticator } from "../auth/authenticator.js";
import type { AgentDirectory } from "../card/agents.js";
import type { Call, OwnerOf } from "../core/call.js";
import type { Limits } from "../core/limits.js";
import type { Logger } from "../core/log.js";
import type { Engine } from "../engine/engine.js";
import type { PushConfigurations } from "../push/configurations.js";
import type { Metrics } from "../telemetry/metrics.js";
import type { Tracing } from "../telemetry/tracing.js";
import type { MismatchLog } from "../version/mismatch-log.js";
import type { Versions } from "../version/versions.js";
import type { ServiceInterceptor } from "./invoke.js";

/** Options of the service and its interceptors. */
export interface ServiceOptions {
  readonly agents: AgentDirectory;
  readonly engine: Engine;
  readonly limits: Limits;
  readonly logger: Logger;
  /** Undefined without an audit log. */
  readonly audit?: Audit | undefined;
  /** Undefined if nothing is counted. */
  readonly metrics?: Metrics | undefined;
  /**
   * For agents that declare no `security`. Without an authenticator their callers are anonymous, and each sees the
   * tasks of all anonymous callers.
   */
  readonly authenticator?: Authenticator;
  /** Returns the owner of a caller's tasks. Default: the name that the authentication gave the caller. */
  readonly ownerOf?: OwnerOf;
  /**
   * Ignores the declarations of agents, so that only the authenticator identifies callers. For tests, which choose
   * their callers.
   */
  readonly ignoresSecurity?: boolean;
  /** Run around every call, after authentication and before everything else. The first is outermost. */
  readonly interceptors?: readonly ServiceInterceptor[];
  /** Rejects calls that name no version, instead of using the one that package, method or path imply. Default false. */
  readonly strictVersion?: boolean;
  /** Versions of the protocol that calls may name. */
  readonly versions: Versions;
  /** Logs calls with an unsupported or wrong version. Undefined to log none. */
  readonly mismatches?: Pick<MismatchLog, "note"> | undefined;
  /** Treats a message's id as its idempotency key if no key is sent. Default false. */
  readonly idempotentMessageIds?: boolean;
  /** Returns the interfaces of an agent's card for the extended card, with the addresses that this caller can reach. */
  readonly interfaces: (tenant: string, call: Call) => AgentInterface[];
  /** Returns the URL of an agent's metadata as a protected resource, as this caller can reach it (RFC 9728). */
  readonly resourceMetadata: (tenant: string, call: Call) => string;
  /** Adds the signatures to a card. Undefined if cards are not signed. */
  readonly signCard?: ((card: AgentCard) => Promise<AgentCard>) | undefined;
  /** Creates and reads push notification configurations. Undefined if push notifications are disabled. */
  readonly push?: PushConfigurations | undefined;
  /**
   * True if the bearer token of an authenticated caller is kept with its message, in memory, for agents that call other
   * agents on its behalf.
   */
  readonly keepsBearer?: (() => boolean) | undefined;
  /** Creates spans of calls. Undefined to create none. */
  readonly tracing?: Tracing | undefined;
  /** True once the server drains; new calls then fail with UNAVAILABLE. */
  readonly draining: () => boolean;
}
