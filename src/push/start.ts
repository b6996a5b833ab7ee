import type { Audit } from "../audit/audit.js";
import type { Limits } from "../core/limits.js";
import type { Logger } from "../core/log.js";
import type { EnginePushes } from "../engine/pushes.js";
import type { TaskStore } from "../store/task-store.js";
import type { Metrics } from "../telemetry/metrics.js";
import type { Tracing } from "../telemetry/tracing.js";
import type { PushDialectOf } from "../version/load.js";
import { Dispatcher } from "./dispatcher.js";
import { memoized } from "./memoize.js";
import type { PushOptions } from "./options.js";
import { ConfigVault } from "./secrets.js";
import type { PushSigner } from "./signature/signer.js";
import { TargetGuard } from "./target/guard.js";
import { createPoster } from "./target/post.js";

/** Parts that a server provides for its dispatcher. */
interface DispatcherParts {
  readonly options: PushOptions;
  readonly store: TaskStore;
  readonly pushes: EnginePushes;
  readonly signer: PushSigner;
  /** See `DispatcherOptions`. */
  readonly headers: Readonly<Record<string, string>>;
  readonly nativeHeaders: Readonly<Record<string, string>>;
  readonly dialectOf: PushDialectOf;
  readonly limits: Limits;
  readonly logger: Logger;
  readonly audit?: Audit | undefined;
  /** See `DispatcherOptions`. */
  readonly agentName: (tenant: string) => string | undefined;
  readonly tracing?: Tracing | undefined;
  /** See `DispatcherOptions`. */
  readonly metrics?: Metrics | undefined;
}

/** Creates a dispatcher with its dependencies. A server imports this file only when it sends notifications. */
export function createDispatcher({ options, ...parts }: DispatcherParts): Dispatcher {
  const { limits } = parts;
  const guard = new TargetGuard(options);
  const vault = new ConfigVault(options.encryptionKeys ?? []);
  return new Dispatcher({
    ...parts,
    events: options.events,
    poster: createPoster({ ...options, limits }),
    // Can be cached: the rules do not change.
    parse: memoized((url) => guard.parse(url)),
    open: (key, bytes) => vault.open(key, bytes),
  });
}
