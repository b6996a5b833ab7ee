import type { Audit } from "../audit/audit.js";
import type { RecentAudit } from "../audit/recent.js";
import type { AgentDirectory } from "../card/agents.js";
import type { FixedLimit, Limits } from "../core/limits.js";
import type { Logger } from "../core/log.js";
import type { Engine } from "../engine/engine.js";
import type { PushControl } from "../push/dead-letters.js";
import type { PushOperations } from "../push/operations.js";
import type { TaskStore } from "../store/task-store.js";
import type { Metrics } from "../telemetry/metrics.js";

/** The lifecycle of the server, as operators see it. */
interface AdminLifecycle {
  /** `starting`, `ready`, `unavailable` or `draining`. */
  readonly readiness: string;
  readonly running: number;
  /** Refuses new calls of the A2A protocol from now on. */
  beginDrain(): void;
}

/** Parts of a server that the operator's methods use. */
export interface AdminParts {
  readonly store: TaskStore;
  readonly engine: Engine;
  readonly agents: AgentDirectory;
  readonly lifecycle: AdminLifecycle;
  readonly limits: Limits;
  /** Values of the limits that no option sets. */
  readonly fixedLimits: Readonly<Record<FixedLimit, number>>;
  /** Time for which finished tasks are kept, in milliseconds; undefined if they are never removed. */
  readonly retentionMs: number | undefined;
  readonly logger: Logger;
  /** Undefined without an audit log. */
  readonly audit: Audit | undefined;
  /** The latest audit records of this process. */
  readonly recentAudit: RecentAudit;
  /** Control of push notifications; undefined if none are sent. */
  readonly push: PushControl | undefined;
  /** Operations on deliveries; undefined if none are made. */
  readonly pushOperations: PushOperations | undefined;
  /** Folder for backups; undefined if none may be made. */
  readonly backupFolder: string | undefined;
  /** Versions of the protocol that the server serves. */
  readonly versions: readonly string[];
  readonly metrics: Metrics;
  /** Undefined for a server of one process. */
  readonly others?: OtherProcesses | undefined;
}

/** The other processes of a server that has several. */
export interface OtherProcesses {
  /** Names of the limits that are divided among the processes. */
  readonly sharedLimits: readonly string[];
  /**
   * Asks all of them. Resolves to the answers that arrive in time. The answer of a process that does not know the
   * question is null.
   */
  ask(question: string, value?: unknown): Promise<readonly unknown[]>;
  /** Registers the answer to a question of the other processes. Values are JSON. */
  answer(question: string, answerer: (value: unknown) => unknown): void;
}
