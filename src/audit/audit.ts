import { background, notPromised } from "../core/async.js";
import type { A2AError, StatusName } from "../core/error.js";
import type { Logger } from "../core/log.js";
import { sourceOf } from "../core/net.js";
import { type AuditEvent, type AuditOutcome, auditEvents } from "./events.js";

/** What happened, as the part that knows it says. Never credentials, never the content of messages, never a whole URL. */
export interface AuditFacts {
  readonly event: AuditEvent;
  /** Where it is not that of the event's table. */
  readonly outcome?: AuditOutcome | undefined;
  /** Owner of what the caller creates: the principal, where one is known. */
  readonly owner?: string | undefined;
  /** The name that the authentication gave the caller, where the server made another owner of it; of a command, the system's user. */
  readonly subject?: string | undefined;
  /** Address of the client. */
  readonly address?: string | undefined;
  readonly tenant?: string | undefined;
  /** Name of the method. */
  readonly method?: string | undefined;
  readonly binding?: string | undefined;
  /** Id that the client got with the refusal; it leads to the entries of the log. */
  readonly requestId?: string | undefined;
  /** Task, or task and configuration, of the caller's own; or the protocol, host and port of a receiver. */
  readonly target?: string | undefined;
  /** A word of a fixed list: the reason of an error, or what the event's part has. Never a text of the client's. */
  readonly reason?: string | undefined;
  /** Name of the security scheme in the card. */
  readonly scheme?: string | undefined;
  /** Name of the limit that was hit. */
  readonly limit?: string | undefined;
  /** Id of the key; never the key. */
  readonly key?: string | undefined;
  /** What the key is for: `card`, `push`, `push-secrets`. */
  readonly use?: string | undefined;
  /** How many things of the kind one record stands for. */
  readonly count?: number | undefined;
}

/** A record of the audit log. */
export interface AuditRecord extends Omit<AuditFacts, "outcome"> {
  /** When, in UTC to the millisecond (RFC 3339); of joined events, the first. */
  readonly at: string;
  readonly outcome: AuditOutcome;
  /** Where several events are joined: when the last of them happened. `count` says how many. */
  readonly until?: string;
}

/** Receiver of audit records. */
export interface AuditLog {
  /** Keeps one record. What it throws is caught: the call goes on. */
  write(record: AuditRecord): void;
}

/** Where the parts of a server report what an auditor wants to know. */
export interface Audit {
  /** Never throws, and waits for nothing. */
  record(facts: AuditFacts): void;
}

/** Records nothing. */
export const silentAudit: Audit = { record: () => {} };

/**
 * Records of a logger's own channel, at info: the event is the message, the other facts are fields. Any pino logger fits. What level is
 * written is the logger's business.
 */
export function auditChannel(logger: Logger): AuditLog {
  const own = logger.child?.({ channel: CHANNEL });
  if (own !== undefined) return { write: (record) => own.info(record, record.event) };
  return { write: (record) => logger.info({ channel: CHANNEL, ...record }, record.event) };
}

const CHANNEL = "audit";

/** Bounds of the audit log, so that a flood of one kind of event does not fill the disk. */
export const auditBounds = {
  /** Time for which events are counted before those that were not written follow together, in milliseconds. */
  windowMs: 10_000,
  /** Records in a window, without those of the server's own acts. */
  records: 500,
  /** Records in a window of one kind (event, reason and limit) from one address and owner. */
  recordsPerSource: 10,
} as const;

/** Events that are counted and not written, with the first of them. */
interface Joined {
  first: AuditRecord;
  until: string;
  count: number;
}

/** What happened within one window of time. */
interface Window {
  readonly timer: NodeJS.Timeout;
  /** Records that were written, in total and by their kind and source. */
  written: number;
  readonly bySource: Map<string, number>;
  /** What was not, by kind and source, or by kind alone where there were too many. */
  readonly joined: Map<string, Joined>;
}

/**
 * Writes what is recorded, and joins what comes too often: an attacker must not fill the disk. In each window of `auditBounds.windowMs` some
 * records of one kind from one source (`recordsPerSource`), and some in total (`records`), are written at once; the
 * others are counted, and follow as one record of each kind with `count`. Acts of the server's own are always written.
 */
export class AuditRecorder implements Audit {
  readonly #log: AuditLog;
  readonly #now: () => number;
  #window: Window | undefined;

  constructor(log: AuditLog, now: () => number = Date.now) {
    this.#log = log;
    this.#now = now;
  }

  record(facts: AuditFacts): void {
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

  /** Writes what is joined, as at the end. */
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
      // A promise that it breaks would end the process.
      notPromised(this.#log.write(record));
    } catch {
      // What cannot be recorded must not end what goes on.
    }
  }
}

/** Joined events say what all of them share: of many sources neither who nor where. */
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

/** The most characters of one fact. Clients choose some of them. */
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

/** What the audit log says of a refusal, and the client is not told. */
export type AuditNote = Pick<AuditFacts, "event" | "reason" | "scheme" | "limit" | "owner" | "target">;

const notes = new WeakMap<A2AError, Partial<AuditNote>>();

/** Says of an error what the audit log is to have of it, and gives it back. */
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

/** The event of a refusal for a reason; undefined where it is nothing to an auditor. */
export function auditEventOf(reason: A2AError["reason"] | StatusName): AuditEvent | undefined {
  return events[reason];
}

/** What the audit log has of a refusal: undefined where it is nothing to an auditor. */
export function auditOf(error: A2AError): AuditNote | undefined {
  const note = notes.get(error);
  const event = note?.event ?? events[error.reason];
  if (event === undefined) return undefined;
  const limit = error.metadata.limit;
  return { event, reason: error.reason, ...(limit !== undefined && { limit }), ...note };
}
