import type { Audit } from "../audit/audit.js";
import type { Limits } from "../core/limits.js";
import type { Logger } from "../core/log.js";
import type { EnginePushes } from "../engine/pushes.js";
import type { PushConfigKey, TaskStore } from "../store/task-store.js";
import type { PushDialectOf } from "../version/push.js";
import type { PushEvent } from "./options.js";
import type { OpenedConfig } from "./secrets.js";
import type { PushSigner } from "./signature/signer.js";
import type { Poster } from "./target/post.js";
import type { Target } from "./target/target-url.js";

/** What a dispatcher is made of. */
export interface DispatcherOptions {
  readonly store: TaskStore;
  readonly pushes: EnginePushes;
  readonly poster: Poster;
  /** Reads a URL by the rules for targets. @throws for one that they forbid */
  readonly parse: (url: string) => Target;
  /** Reads what is stored of a configuration. @throws MissingKeyError, Error */
  readonly open: (key: PushConfigKey, bytes: Uint8Array) => OpenedConfig;
  /** How notifications of configurations of other versions look. Default: there are none. */
  readonly dialectOf?: PushDialectOf | undefined;
  readonly signer?: PushSigner | undefined;
  readonly events?: readonly PushEvent[] | undefined;
  /** Headers of every notification. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Further ones of those in the service's own version. */
  readonly nativeHeaders?: Readonly<Record<string, string>>;
  readonly limits: Limits;
  readonly logger: Logger;
  readonly audit?: Audit | undefined;
  /** Milliseconds since the epoch. Default: the system's clock. */
  readonly now?: () => number;
  /** How often is looked for what no news came of, in milliseconds. Default 1 second on a shared store, else 30. */
  readonly pollMs?: number;
}

/** Push notifications that a process is delivering. */
export interface PushStatus {
  /** Configurations that are delivered to now. */
  readonly working: number;
  /** Configurations that wait here for their host. */
  readonly waiting: number;
  /** Notifications that receivers have accepted since the start. */
  readonly sent: number;
  /** Tries that failed since the start. */
  readonly failed: number;
  /** Configurations that were given up since the start. */
  readonly givenUp: number;
  /** Hosts that fail, with the failures in a row of each. */
  readonly failingHosts: readonly { readonly host: string; readonly failures: number }[];
}
