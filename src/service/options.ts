import type { AgentCard, AgentInterface } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { Audit } from "../audit/audit.js";
import type { Authenticator } from "../auth/authenticator.js";
import type { AgentDirectory } from "../card/agents.js";
import type { Call } from "../core/call.js";
import type { OwnerOf } from "../core/caller.js";
import type { Limits } from "../core/limits.js";
import type { Logger } from "../core/log.js";
import type { Engine } from "../engine/engine.js";
import type { PushConfigurations } from "../push/configurations.js";
import type { MismatchLog } from "../version/mismatch-log.js";
import type { Versions } from "../version/versions.js";
import type { Interceptor } from "./invoke.js";

/** What the service and its interceptors need. */
export interface ServiceOptions {
  readonly agents: AgentDirectory;
  readonly engine: Engine;
  readonly limits: Limits;
  readonly logger: Logger;
  /** Undefined: nobody reads it. */
  readonly audit?: Audit | undefined;
  /** For agents that declare no `security`. Without one their callers are anonymous, and each sees the tasks of all anonymous callers. */
  readonly authenticator?: Authenticator;
  /** Whose is what a caller creates. Default: the name that the authentication gave it. */
  readonly ownerOf?: OwnerOf;
  /** Lets the authenticator alone say who calls, whatever agents declare: for tests, which choose their callers. */
  readonly ignoresSecurity?: boolean;
  /** Run around every call, after authentication and before anything else looks at the call; the first is outermost. */
  readonly interceptors?: readonly Interceptor[];
  /** Refuses calls that name no version, instead of using the one that package, method or path imply. Default false. */
  readonly strictVersion?: boolean;
  /** Versions of the protocol that calls may name. */
  readonly versions: Versions;
  /** Told of calls whose version does not fit; undefined: no one asks. */
  readonly mismatches?: Pick<MismatchLog, "note"> | undefined;
  /** Treats a message's id as its idempotency key when no key is sent. Default false. */
  readonly idempotentMessageIds?: boolean;
  /** The interfaces of an agent's card, with the addresses that this caller can reach, for the extended card. */
  readonly interfaces: (tenant: string, call: Call) => AgentInterface[];
  /** URL of the metadata of an agent as a protected resource, as this caller can reach it (RFC 9728). */
  readonly resourceMetadata: (tenant: string, call: Call) => string;
  /** Adds the signatures to a card. Undefined where cards are not signed. */
  readonly signCard?: ((card: AgentCard) => Promise<AgentCard>) | undefined;
  /** Makes and reads push notification configurations. Undefined where none are sent. */
  readonly push?: PushConfigurations | undefined;
  /** Keeps the bearer token of an authenticated caller with its message, in memory, for agents that call others on its behalf. */
  readonly keepsBearer?: boolean | undefined;
  /** True from the moment the server drains: new calls are refused as unavailable. */
  readonly draining: () => boolean;
}
