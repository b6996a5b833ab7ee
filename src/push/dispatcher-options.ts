import type { Audit } from "../audit/audit.js";
import type { Limits } from "../core/limits.js";
import type { Logger } from "../core/log.js";
import type { EnginePushes } from "../engine/pushes.js";
import type { PushConfigKey, TaskStore } from "../store/task-store.js";
import type { Metrics } from "../telemetry/metrics.js";
import type { Tracing } from "../telemetry/tracing.js";
import type { PushDialectOf } from "../version/load.js";
import type { PushEventKind } from "./options.js";
import type { OpenedConfig } from "./secrets.js";
import type { PushSigner } from "./signature/signer.js";
import type { Poster } from "./target/post.js";
import type { Target } from "./target/target-url.js";

export interface DispatcherOptions {
  readonly store: TaskStore;
  readonly pushes: EnginePushes;
  readonly poster: Poster;
  /** Parses a URL by the target rules. @throws for a forbidden one */
  readonly parse: (url: string) => Target;
  /** Reads a stored configuration. @throws MissingKeyError, Error */
  readonly open: (key: PushConfigKey, bytes: Uint8Array) => OpenedConfig;
  /** The notification format of other protocol versions. Default: none. */
  readonly dialectOf?: PushDialectOf | undefined;
  readonly signer?: PushSigner | undefined;
  readonly events?: readonly PushEventKind[] | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  /** Further headers of notifications in the service's own version. */
  readonly nativeHeaders?: Readonly<Record<string, string>>;
  readonly limits: Limits;
  readonly logger: Logger;
  readonly audit?: Audit | undefined;
  /** Returns the name of the agent that serves a tenant, for log lines. Default: lines name no agent. */
  readonly agentName?: (tenant: string) => string | undefined;
  /** Creates spans of attempts. Default: none. */
  readonly tracing?: Tracing | undefined;
  /** Counts attempts and dead letters. Default: nothing is counted. */
  readonly metrics?: Metrics | undefined;
  /** Milliseconds since the epoch. Default: the system's clock. */
  readonly now?: () => number;
  /**
   * Interval of polling for deliveries without a notification, in milliseconds. Default 1 second on a shared store,
   * else 30.
   */
  readonly pollMs?: number;
}

/** Push notifications that a process is delivering. */
export interface PushStatus {
  /** Configurations with a delivery in progress. */
  readonly working: number;
  /** Configurations that wait in this process for their host. */
  readonly waiting: number;
  /** Notifications accepted by receivers since the start. */
  readonly sent: number;
  /** Failed attempts since the start. */
  readonly failed: number;
  /** Configurations given up since the start. */
  readonly givenUp: number;
  /** Failing hosts, each with its number of consecutive failures. */
  readonly failingHosts: readonly { readonly host: string; readonly failures: number }[];
}
