import { background, notPromised } from "../core/async.js";
import type { A2AError, StatusName } from "../core/error.js";
import type { Logger } from "../core/log.js";
import { sourceOf } from "../core/net.js";
import { type AuditEvent, type AuditOutcome, auditEvents } from "./events.js";

/**
 * Facts of one event, as the part that reports it knows them. They never include credentials, message content or a
 * whole URL.
 */
export interface AuditFacts {
  readonly event: AuditEvent;
  /** Default: the event's outcome in `auditEvents`. */
  readonly outcome?: AuditOutcome | undefined;
  /** Owner of the tasks that the caller creates, if the caller is known. */
  readonly owner?: string | undefined;
  /** The caller's authenticated name, if it differs from the owner. For a command: the operating system's user. */
  readonly subject?: string | undefined;
  /** Name of the operator, for calls of the operator's service. */
  readonly operator?: string | undefined;
  /** `admin` for calls of the operator's service; absent for others. */
  readonly service?: "admin" | undefined;
  /** Address of the client. */
  readonly address?: string | undefined;
  readonly tenant?: string | undefined;
  /** Name of the method. */
  readonly method?: string | undefined;
  readonly binding?: string | undefined;
  /** Request id that the client received with the refusal; log entries of the call have the same id. */
  readonly requestId?: string | undefined;
  /** Trace id of the call: 32 hexadecimal digits. */
  readonly traceId?: string | undefined;
  /** The task of the event. Absent for refused calls, which may name another caller's task. */
  readonly taskId?: string | undefined;
  /** Name of the agent, from its card. */
  readonly agent?: string | undefined;
  /** The caller's task, or task and push configuration; or the protocol, host and port of a receiver. */
  readonly target?: string | undefined;
  /** A word of a fixed list: an error's reason, or one that the event defines. Never text from the client. */
  readonly reason?: string | undefined;
  /** Name of the security scheme in the card. */
  readonly scheme?: string | undefined;
  /** Name of the limit that was hit. */
  readonly limit?: string | undefined;
  /** Id of the key; never the key. */
  readonly key?: string | undefined;
  /** Purpose of the key: `card`, `push` or `push-secrets`. */
  readonly use?: string | undefined;
  /** Number of events or items that the record covers. */
  readonly count?: number | undefined;
}

/** A record of the audit log. */
export interface AuditRecord extends Omit<AuditFacts, "outcome"> {
  /** Time of the event, or of the first joined event, in UTC to the millisecond (RFC 3339). */
  readonly at: string;
  readonly outcome: AuditOutcome;
  /** Time of the last event, if the record joins several; `count` is their number. */
  readonly until?: string;
}

/** Receiver of audit records. */
export interface AuditLog {
  /** Stores one record. The server catches exceptions and continues the call. */
  write(record: AuditRecord): void;
}

/** Receives the facts that the parts of a server report. */
export interface Audit {
  /** Neither throws nor waits. */
  record(facts: AuditFacts): void;
}

/** Records nothing. */
export const silentAudit: Audit = { record: () => {} };

/**
 * Returns an audit log that writes to a logger, at level info, with `channel: "audit"`. The event is the message, the
 * other facts are fields. Any pino logger fits. The logger's own level may drop the records.
 */
export function auditChannel(logger: Logger): AuditLog {
  const own = logger.child?.({ channel: CHANNEL });
  if (own !== undefined) return { write: (record) => own.info(record, record.event) };
  return { write: (record) => logger.info({ channel: CHANNEL, ...record }, record.event) };
}

const CHANNEL = "audit";

/** Bounds of the audit log: a flood of one kind of event must not fill the disk. */
export const auditBounds = {
  /**
   * Length of a window, in milliseconds. At its end, the events that were only counted are written as joined records.
   */
  windowMs: 10_000,
  /** Records per window, not counting the server's own acts. */
  records: 500,
  /** Records per window of one kind (event, reason and limit) from one address and owner. */
  recordsPerSource: 10,
} as const;

/** Events that were counted but not written, with the first of them. */
interface Joined {
  first: AuditRecord;
  until: string;
  count: number;
}

/** Counts and joined events of one window. */
interface Window {
  readonly timer: NodeJS.Timeout;
  /** Number of records written, in total and by kind and source. */
  written: number;
  readonly bySource: Map<string, number>;
  /** Events not written, by kind and source, or by kind alone after `auditBounds.records`. */
  readonly joined: Map<string, Joined>;
}

/**
 * Writes audit records and joins frequent ones, so that an attacker cannot fill the disk. In each window of
 * `auditBounds.windowMs` it writes up to `recordsPerSource` records of one kind from one source, and up to `records` in
 * total. It counts the others and writes one record of each kind with `count` at the end of the window. It always
 * writes the server's own acts.
 */
export class AuditRecorder implements Audit {
  readonly #log: AuditLog | undefined;
  readonly #now: () => number;
  readonly #counted: ((facts: AuditFacts) => void) | undefined;
  #window: Window | undefined;

  /**
   * @param log undefined to write nothing
   * @param counted called with the facts of every event, joined or not; must not throw
   */
  constructor(log: AuditLog | undefined, now: () => number = Date.now, counted?: (facts: AuditFacts) => void) {
    this.#log = log;
    this.#now = now;
    this.#counted = counted;
  }

  record(facts: AuditFacts): void {
    this.#counted?.(facts);
    if (this.#log === undefined) return;
    const record = recordOf(facts, new Date(this.#now()).toISOString());
    if (auditEvents[facts.event].isOwn === true) return this.#write(record);
    const window = this.#opened();
    const kind = `${record.event} ${record.reason ?? ""} ${record.limit ?? ""}`;
    if (window.written >= auditBounds.records) return join(window, kind, record, false);
    const source = record.address === undefined ? (record.target ?? "") : sourceOf(record.address);
    const key = `${kind} ${source} ${record.owner ?? ""}`;
    const before = window.bySource.get(key) ?? 0;
    if (before >= auditBounds.recordsPerSource) return join(window, key, record, true);
    window.bySource.set(key, before + 1);
    window.written++;
    this.#write(record);
  }

  /** Ends the window and writes the joined records. */
  flush(): void {
    const window = this.#window;
    if (window === undefined) return;
    clearTimeout(window.timer);
    this.#window = undefined;
    for (const { first, until, count } of window.joined.values()) this.#write({ ...first, until, count });
  }

  #opened(): Window {
    this.#window ??= {
      timer: background(setTimeout(() => this.flush(), auditBounds.windowMs)),
      written: 0,
      bySource: new Map(),
      joined: new Map(),
    };
    return this.#window;
  }

  #write(record: AuditRecord): void {
    try {
      // A rejected promise would end the process.
      notPromised(this.#log?.write(record));
    } catch {
      // A record that cannot be written must not fail the call.
    }
  }
}

/**
 * Adds an event to a joined record. The record has only the facts that all its events share: from several sources, no
 * address or owner.
 */
function join(window: Window, key: string, record: AuditRecord, isOneSource: boolean): void {
  const count = record.count ?? 1;
  const known = window.joined.get(key);
  if (known !== undefined) {
    known.count += count;
    known.until = record.at;
    return;
  }
  const { at, event, outcome, reason, limit, address, owner } = record;
  const shared = {
    at,
    event,
    outcome,
    ...(reason !== undefined && { reason }),
    ...(limit !== undefined && { limit }),
    ...(isOneSource && address !== undefined && { address }),
    ...(isOneSource && owner !== undefined && { owner }),
    ...(isOneSource && address === undefined && record.target !== undefined && { target: record.target }),
  };
  window.joined.set(key, { first: shared, until: at, count });
}

/** Maximum length of one fact in characters. Clients choose some facts. */
const MAX_FACT = 256;

function recordOf(facts: AuditFacts, at: string): AuditRecord {
  const { event, outcome = auditEvents[event].outcome, ...others } = facts;
  const record: Record<string, string | number> = { at, event, outcome };
  for (const [name, value] of Object.entries(others)) {
    if (typeof value === "number") record[name] = value;
    else if (typeof value === "string" && value !== "") record[name] = cut(value);
  }
  return record as unknown as AuditRecord;
}

function cut(text: string): string {
  return text.length <= MAX_FACT ? text : `${text.slice(0, MAX_FACT)}…`;
}

/** Audit facts of a refusal that the client does not receive. */
type AuditNote = Pick<AuditFacts, "event" | "reason" | "scheme" | "limit" | "owner" | "target">;

const notes = new WeakMap<A2AError, Partial<AuditNote>>();

/** Attaches audit facts to an error and returns the error. */
export function forAudit<E extends A2AError>(error: E, note: Partial<AuditNote>): E {
  notes.set(error, { ...notes.get(error), ...note });
  return error;
}

const events: Partial<Record<A2AError["reason"] | StatusName, AuditEvent>> = {
  UNAUTHENTICATED: "authentication.failed",
  PERMISSION_DENIED: "access.denied",
  HOST_NOT_ALLOWED: "access.denied",
  TASK_NOT_FOUND: "access.denied",
  TOO_MANY_REQUESTS: "limit.hit",
  REQUEST_TOO_LARGE: "limit.hit",
  TASK_TOO_LARGE: "limit.hit",
  RESOURCE_EXHAUSTED: "limit.hit",
};

/** Returns the audit event of a refusal for a reason, or undefined if the refusal is not audited. */
export function auditEventOf(reason: A2AError["reason"] | StatusName): AuditEvent | undefined {
  return events[reason];
}

/** Returns the audit facts of a refusal, or undefined if the refusal is not audited. */
export function auditOf(error: A2AError): AuditNote | undefined {
  const note = notes.get(error);
  const event = note?.event ?? events[error.reason];
  if (event === undefined) return undefined;
  const limit = error.metadata.limit;
  return { event, reason: error.reason, ...(limit !== undefined && { limit }), ...note };
}
