import type { Task } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { type Cancellation, cancellationOf, notPromised } from "./async.js";
import { A2AError } from "./error.js";
import { REQUEST_ID_HEADER, requestIdOf } from "./ids.js";
import { isText } from "./members.js";

/** The connection that a call came from. */
export interface Peer {
  /** Address of the other end of the connection, or of the client behind a trusted proxy. */
  readonly address: string;
  /** True if the connection is encrypted. */
  readonly encrypted: boolean;
  /**
   * Port of the other end, which distinguishes its connections. Undefined if it is unknown, or if the other end is a
   * trusted proxy, whose connections carry the calls of many clients.
   */
  readonly port?: number;
  /**
   * The client's certificate, if the server requests one and an authority of `tls.ca` signed it. Undefined for calls
   * through a trusted proxy, whose certificate is not the client's.
   */
  readonly certificate?: ClientCertificate;
}

/** The certificate of a client, verified by the server's TLS. */
export interface ClientCertificate {
  /**
   * Subject, its parts in the order of the certificate: `O=Example,CN=nightly`. Commas in values are escaped with a
   * backslash.
   */
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
  /**
   * The first value of a query parameter of the URL, decoded. Absent for bindings without a URL that the client
   * chooses.
   */
  query?(name: string): string | undefined;
  readonly peer: Peer;
  /**
   * Address to which failed attempts to authenticate are counted. Empty for credentials that the server has accepted
   * before. Default: the address of the peer.
   */
  readonly attemptsFrom?: string | undefined;
  /**
   * Path prefix under which the handler of this call is mounted, without a trailing slash. Undefined if the binding has
   * no such handler or does not know the prefix.
   */
  readonly mount?: string | undefined;
  /** Tenant in the URL of the call. Undefined if the messages name the tenant. */
  readonly pathTenant?: string | undefined;
  /** The client's deadline, in milliseconds since 1970. Absent or Infinity without a deadline. */
  readonly deadline?: number;
  /** Fires when the client is gone or its deadline has passed. */
  readonly signal: AbortSignal;
  /** The same as `signal` at less cost. Derived from the signal if the binding does not provide it. */
  readonly cancellation?: Cancellation;
  /**
   * The version that package, method name or path identifies unambiguously. It applies if the client sends no version
   * header (specification 3.6.2 does not cover this case). Undefined if the binding cannot identify it.
   */
  readonly impliedVersion?: string;
  /**
   * Request id, if the binding writes it to the answer itself. If absent, the call takes the client's or makes one, and
   * its answer's headers have it.
   */
  readonly requestId?: string | undefined;
}

/** Records that a limit refused an answer while the binding wrote it. */
export interface AnswerRefusals {
  record(error: A2AError): void;
}

const noExtensions: ReadonlySet<string> = new Set();

const noHeaders: ReadonlyMap<string, string> = new Map();

/**
 * One call on its way through the interceptors to the method, and the facts that the interceptors add. Each later field
 * names the interceptor that sets it.
 */
export class Call {
  readonly binding: string;
  readonly impliedVersion: string | undefined;
  /** W3C traceparent of the caller, or empty: trace interceptor. */
  traceParent = "";
  /** The span of the call, or undefined: server span interceptor. `spanOf` returns it with its type. */
  span: object | undefined;
  /** W3C tracestate that belongs to it, or empty: trace interceptor. */
  traceState = "";
  /** The id of the request object: JSON-RPC's binding. */
  jsonRpcId: string | number | null | undefined;
  /** The caller: authentication interceptor. */
  caller: Caller = anonymous;
  /** Protocol version of the call, as `Major.Minor`; empty until it is known: version interceptor. */
  version = "";
  /** Facts for the service: the translator of the call's version. `versionFactsOf` returns them with their type. */
  versionFacts: object | undefined;
  /** Tenant of the request: tenant interceptor. */
  tenant = "";
  /** Name of the agent, from its card; empty if it is unknown: trace and tenant interceptors. */
  agent = "";
  /**
   * The task that the request names, which may not exist, or the task of its message; empty for none: trace and tenant
   * interceptors, and sends.
   */
  taskId = "";
  /** Extensions in force for this call: extensions interceptor. */
  extensions: ReadonlySet<string> = noExtensions;
  /**
   * Releases the quota of an answer that is one large message (`weightOf`). The binding calls it once the answer is
   * written or can no longer be written. Streams release theirs themselves. Undefined for other answers.
   */
  written: (() => void) | undefined;
  /**
   * Rejects a message to a task, by an A2AError, if the caller lacks a requirement of the task's earlier messages. Set
   * for agents whose skills have requirements; undefined otherwise.
   */
  admitToTask: ((task: Pick<Task, "history">) => Promise<void>) | undefined;
  /**
   * The caller's open calls and streams, including this call: caller limits interceptor. Decremented when the call
   * ends.
   */
  share: { calls: number; streams: number } | undefined;
  /** The memory quota of a large request: request memory interceptor. Released when the call ends. */
  held: SharedHold | undefined;

  /** Records refusals of the answer by a limit: admission. Undefined without an audit log and metrics. */
  refusals: AnswerRefusals | undefined;

  readonly #start: CallStart;
  #responseHeaders: Map<string, string> | undefined;
  #cancellation: Cancellation | undefined;
  #peer: Peer | undefined;
  #attemptsFrom: string | undefined;
  #requestId: string | undefined;

  constructor(start: CallStart) {
    this.#start = start;
    this.binding = start.binding;
    this.impliedVersion = start.impliedVersion;
  }

  /** Headers of the response, with lower-case names. Set before the first message is sent. */
  get responseHeaders(): Map<string, string> {
    this.#responseHeaders ??= new Map();
    return this.#responseHeaders;
  }

  /** The same headers, read-only. Most answers have none, and reading them creates no map. */
  get answerHeaders(): ReadonlyMap<string, string> {
    return this.#responseHeaders ?? noHeaders;
  }

  /** See CallStart. */
  header(name: string): string | undefined {
    return this.#start.header(name);
  }

  /** The first value of a query parameter of the URL, decoded. Always undefined over gRPC, which has no query. */
  query(name: string): string | undefined {
    return this.#start.query?.(name);
  }

  /**
   * Request id, for the log and the `x-request-id` header of the answer: the client's own if it is valid, or one
   * generated on first use.
   */
  get requestId(): string {
    this.#requestId ??= this.#start.requestId ?? requestIdOf(this.#start.header(REQUEST_ID_HEADER));
    return this.#requestId;
  }

  /** Replaces the request id, in the answer too. */
  set requestId(id: string) {
    this.#requestId = id;
    this.responseHeaders.set(REQUEST_ID_HEADER, id);
  }

  /** True if the binding writes the request id to the answer itself. */
  get hasOwnRequestId(): boolean {
    return this.#start.requestId !== undefined;
  }

  /** The client, even if a trusted proxy forwards the call: proxy interceptor. */
  get peer(): Peer {
    this.#peer ??= this.#start.peer;
    return this.#peer;
  }

  set peer(peer: Peer) {
    this.#peer = peer;
  }

  /** See CallStart. */
  get attemptsFrom(): string {
    return this.#attemptsFrom ?? this.#start.attemptsFrom ?? this.peer.address;
  }

  set attemptsFrom(address: string) {
    this.#attemptsFrom = address;
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

  /** Fires when the client is gone or its deadline has passed. The binding creates it on first use. */
  get signal(): AbortSignal {
    return this.#start.signal;
  }

  /**
   * The same as `signal`, for callers that need only a callback. It also fires when the credentials of a stream have
   * expired: admission interceptor.
   */
  get cancellation(): Cancellation {
    return this.#cancellation ?? this.#start.cancellation ?? cancellationOf(this.#start.signal);
  }

  set cancellation(cancellation: Cancellation) {
    this.#cancellation = cancellation;
  }
}

/** A resource held for several users and freed when the last one releases it. */
export class SharedHold {
  readonly #free: () => void;
  #users = 1;

  constructor(free: () => void) {
    this.#free = free;
  }

  /** Adds a user, which calls `release` once. Returns undefined if the resource is already freed. */
  share(): this | undefined {
    if (this.#users === 0) return undefined;
    this.#users++;
    return this;
  }

  release(): void {
    if (--this.#users === 0) this.#free();
  }
}

/** The caller of an operation, as the authenticator identified it. */
export interface Caller {
  /**
   * Owner of the tasks that the caller creates; tasks of other owners do not exist for it. Empty for the anonymous
   * caller.
   */
  readonly owner: string;
  /** False for the anonymous caller. */
  readonly authenticated: boolean;
  /** Scopes or roles granted to the caller, for the agent's own decisions. */
  readonly scopes: readonly string[];
  /** The name that the authentication gave the caller, if the server's `ownerOf` mapped it to another owner. */
  readonly subject?: string;
  /**
   * Expiry of the credentials, in milliseconds since 1970; undefined if they do not expire. Streams of the caller end
   * `expiredStreamGraceMs` later. A scheme or authenticator rejects expired credentials itself.
   */
  readonly expiresAt?: number;
  /** Further facts for the agent, such as verified token claims. Never stored, never logged. */
  readonly claims: Readonly<Record<string, unknown>>;
}

/** Result of an authenticator that accepts a caller. Defaults: `authenticated` true, no scopes, no claims. */
export type CallerInput = Pick<Caller, "owner"> & Partial<Omit<Caller, "owner">>;

/** The caller's token, for calls on its behalf. Logging it or converting it to JSON does not reveal the token. */
export class CallerToken {
  readonly #token: string;
  constructor(token: string) {
    this.#token = token;
  }

  /** Returns the token, without the word `Bearer`. */
  reveal(): string {
    return this.#token;
  }
}

/** The caller of a server without an authenticator. */
export const anonymous: Caller = Object.freeze({
  owner: "",
  authenticated: false,
  scopes: Object.freeze([]),
  claims: Object.freeze({}),
});

/**
 * Returns the owner of the caller's tasks, such as an organisation whose members share tasks. Undefined rejects the
 * caller. `caller.owner` is the name that the authentication gave it.
 */
export type OwnerOf = (caller: Caller) => string | undefined;

/** Maximum length of the name of a caller and of the owner of its tasks, in characters: room for a URL or a distinguished name. */
const MAX_OWNER_LENGTH = 1_024;

/**
 * Returns the caller with the owner that `ownerOf` assigns. Anonymous callers stay anonymous.
 *
 * @throws A2AError PERMISSION_DENIED if `ownerOf` returns no owner or an invalid name
 * @throws TypeError if the scopes are not an array of strings or the expiry is not a number
 */
export function withOwner(caller: Caller, ownerOf: OwnerOf | undefined): Caller {
  // A string also has includes(), which would match parts of it as scopes. Only strings can be stored with a message.
  if (!Array.isArray(caller.scopes) || !caller.scopes.every(isText)) {
    throw new TypeError("the scopes of a caller must be an array of strings");
  }
  const { authenticated, expiresAt } = caller;
  // Without a valid expiry a stream of this caller would never end with its credentials.
  if (expiresAt !== undefined && (typeof expiresAt !== "number" || Number.isNaN(expiresAt))) {
    throw new TypeError("expiresAt of a caller must be a time in milliseconds");
  }
  const owner: unknown = ownerOf === undefined || !authenticated ? caller.owner : notPromised(ownerOf(caller));
  // A function in plain JavaScript may return any value. The empty owner is reserved for anonymous callers. Ill-formed
  // Unicode cannot be stored, or is stored like another owner's name. Control characters can make a name look like
  // another one.
  const isOwner = isText(owner) && owner.length <= MAX_OWNER_LENGTH && owner.isWellFormed() && !/\p{Cc}/u.test(owner);
  if (!isOwner || (owner === "" && authenticated)) {
    throw new A2AError("PERMISSION_DENIED", "The caller is not permitted to use this server.");
  }
  return owner === caller.owner ? caller : { ...caller, owner, subject: caller.owner };
}
