import type { Task } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { anonymous, type Caller } from "./caller.js";
import { type Cancellation, cancellationOf } from "./cancellation.js";
import { newRequestId } from "./ids.js";

/** The connection that a call came from. */
export interface Peer {
  /** Address of the other end of the connection, or of the client behind a trusted proxy. */
  readonly address: string;
  /** Whether the connection is encrypted. */
  readonly encrypted: boolean;
  /**
   * Port of the other end, which tells its connections apart. Undefined where that is not known, or where a trusted proxy
   * is the other end: its connections carry the calls of many clients.
   */
  readonly port?: number;
  /**
   * The certificate that the client has shown, where the server asks for one and an authority of its own has signed it
   * (`tls.ca`). Undefined behind a trusted proxy: that one's certificate is not the client's.
   */
  readonly certificate?: ClientCertificate;
}

/** The certificate of a client, verified by the server's TLS. */
export interface ClientCertificate {
  /** Subject, its parts in the order of the certificate: `O=Example,CN=nightly`. Commas in values have a backslash before them. */
  readonly subject: string;
  /** Subject alternative names as Node.js writes them, such as `DNS:a.example` and `URI:spiffe://example/nightly`. */
  readonly names: readonly string[];
  /** SHA-256 of the certificate, as `AB:CD:…`. */
  readonly fingerprint: string;
}

/** Facts about a call that a binding knows before the interceptors run. */
export interface CallStart {
  /** Name of the binding, for logs: `grpc`, `connect`, `grpc-web`, `jsonrpc`, `rest`. */
  readonly binding: string;
  /**
   * A header or metadata value by its lower-case name; several values are joined by commas. Undefined when absent,
   * which is not the same as empty (specification 3.6.2).
   */
  header(name: string): string | undefined;
  /** The first value of a parameter of the URL's query, decoded; absent where the binding has no URL of the client's own. */
  query?(name: string): string | undefined;
  readonly peer: Peer;
  /**
   * Path that the handler is mounted below which this call came through, without a slash at the end. Undefined where the
   * binding has no such handler, or is not told.
   */
  readonly mount?: string | undefined;
  /** The tenant that the URL of the call stands for, which its messages do not name. Undefined: its messages say all. */
  readonly pathTenant?: string | undefined;
  /** When its client's deadline is, in milliseconds since 1970; absent, or Infinity, where it has none. */
  readonly deadline?: number;
  /** Fires when the client is gone or its deadline has passed. */
  readonly signal: AbortSignal;
  /** The same at less cost, where the binding has it; made from the signal otherwise. */
  readonly cancellation?: Cancellation;
  /**
   * The version that package, method name or path alone tells without doubt, taken when the client names none
   * (specification 3.6.2 and its gap: a missing header). Undefined: the binding cannot tell.
   */
  readonly impliedVersion?: string;
}

/** A number that a field of a request has. */
export interface NumberInField {
  /** Its path. */
  readonly field: string;
  readonly value: bigint;
}

/** What a request says of generations. */
interface Generations {
  /** The one that the caller knows: a read waits for a later one. */
  readonly known?: NumberInField;
  /** The one at which a message expects its task. */
  readonly expected?: NumberInField;
}

const noExtensions: ReadonlySet<string> = new Set();

const noHeaders: ReadonlyMap<string, string> = new Map();

/**
 * One call on its way through the interceptors to the method, with what the interceptors add to it. Each later field
 * names the interceptor that sets it.
 */
export class Call {
  readonly binding: string;
  readonly impliedVersion: string | undefined;
  /** W3C traceparent of the caller, or empty: trace interceptor. */
  traceParent = "";
  /** Who calls: authentication interceptor. */
  caller: Caller = anonymous;
  /** Version of the protocol that the call is one of, as `Major.Minor`; empty before it is known: version interceptor. */
  version = "";
  /**
   * What the messages of a version that has fields for it say of generations; answers have theirs noted on them then
   * (`Marks.generation`). Set by that version's translator.
   */
  generations: Generations | undefined;
  /** Tenant of the request: tenant interceptor. */
  tenant = "";
  /** Extensions in force for this call: extensions interceptor. */
  extensions: ReadonlySet<string> = noExtensions;
  /**
   * Lets go of what is held for an answer that is one large message (`weightOf`): for the binding to call when the
   * answer is written, or never will be. Streams do it themselves. Undefined for all other answers.
   */
  written: (() => void) | undefined;
  /**
   * The client has chosen the id of the task that its message is for, which is created where the caller has none of that id. The
   * translator of a version whose clients do so sets it; in the service's own version they never do (specification 3.4.2).
   */
  namesTask = false;
  /**
   * A push configuration without an id, which comes with a message, gets that of its task. The translator of a version sets it that knows
   * one configuration of a task without an id: setting that later replaces this.
   */
  namesConfigByTask = false;
  /**
   * Refuses a message to a task, by an A2AError, for which the caller lacks what messages before it needed. Undefined: nothing more is
   * needed. Set where an agent's skills have requirements.
   */
  admitToTask: ((task: Pick<Task, "history">) => Promise<void>) | undefined;
  /** What the caller has open, with this call: caller limits interceptor. Counted down when the call is over. */
  share: { calls: number; streams: number } | undefined;
  /** The memory of its request, where that is large: request memory interceptor. Released when the call is over. */
  held: SharedHold | undefined;

  readonly #start: CallStart;
  #responseHeaders: Map<string, string> | undefined;
  #cancellation: Cancellation | undefined;
  #peer: Peer | undefined;
  #requestId: string | undefined;

  constructor(start: CallStart) {
    this.#start = start;
    this.binding = start.binding;
    this.impliedVersion = start.impliedVersion;
  }

  /** Headers of the response, lower-case names; set before the first message leaves. */
  get responseHeaders(): Map<string, string> {
    this.#responseHeaders ??= new Map();
    return this.#responseHeaders;
  }

  /** The same as they are now, for whoever only reads them: most answers have none, and no map is made for those. */
  get answerHeaders(): ReadonlyMap<string, string> {
    return this.#responseHeaders ?? noHeaders;
  }

  /** See CallStart. */
  header(name: string): string | undefined {
    return this.#start.header(name);
  }

  /** The first value of a parameter of the URL's query, decoded. Always undefined over gRPC, which has none. */
  query(name: string): string | undefined {
    return this.#start.query?.(name);
  }

  /**
   * Request id, for the log and the `x-request-id` header: the client's own (trace interceptor), or a new one when
   * somebody needs it.
   */
  get requestId(): string {
    this.#requestId ??= newRequestId();
    return this.#requestId;
  }

  set requestId(id: string) {
    this.#requestId = id;
  }

  /** The client, also where a trusted proxy stands before it: proxy interceptor. */
  get peer(): Peer {
    this.#peer ??= this.#start.peer;
    return this.#peer;
  }

  set peer(peer: Peer) {
    this.#peer = peer;
  }

  /** See CallStart. */
  get mount(): string | undefined {
    return this.#start.mount;
  }

  /** See CallStart. */
  get pathTenant(): string | undefined {
    return this.#start.pathTenant;
  }

  /** See CallStart. */
  get deadline(): number {
    return this.#start.deadline ?? Number.POSITIVE_INFINITY;
  }

  /** Fires when the client is gone or its deadline has passed. Asked of the binding only when somebody wants it. */
  get signal(): AbortSignal {
    return this.#start.signal;
  }

  /** The same, for whoever only wants to be told; of a stream also when its credentials have ended: admission. */
  get cancellation(): Cancellation {
    return this.#cancellation ?? this.#start.cancellation ?? cancellationOf(this.#start.signal);
  }

  set cancellation(cancellation: Cancellation) {
    this.#cancellation = cancellation;
  }
}

/** Something that is held for several users, and freed when the last one has released it. */
export class SharedHold {
  readonly #free: () => void;
  #users = 1;

  constructor(free: () => void) {
    this.#free = free;
  }

  /** Adds a user, who calls `release` once. */
  share(): this {
    this.#users++;
    return this;
  }

  release(): void {
    if (--this.#users === 0) this.#free();
  }
}
