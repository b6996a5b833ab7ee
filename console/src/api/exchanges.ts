/** Longest body of an exchange that is kept, in bytes. */
const MAX_BODY = 256 * 1024;

/** Most exchanges that are kept. The oldest is dropped. */
const MAX_EXCHANGES = 200;

/** A body as it went over the wire, cut at `MAX_BODY`. */
export interface WireBody {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Its whole size so far, in bytes. */
  readonly size: number;
}

/** One request of this page to an agent, with its answer. */
export interface Exchange {
  readonly id: number;
  /** The agent that it was sent to, as `relayFetchOf` was given it. */
  readonly agent: string;
  readonly method: string;
  readonly url: string;
  readonly requestHeaders: readonly (readonly [string, string])[];
  readonly request: WireBody;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  readonly status?: number;
  readonly responseHeaders: readonly (readonly [string, string])[];
  readonly response: WireBody;
  /** Milliseconds until the first byte of the answer's head, and until its end. */
  readonly headMs?: number;
  readonly endMs?: number;
  /** Reason of a missing or incomplete answer. */
  readonly error?: string;
}

const empty: WireBody = { bytes: new Uint8Array(), size: 0 };

let exchanges: readonly Exchange[] = [];
let lastId = 0;
const listeners = new Set<() => void>();

/** The exchanges of this page, newest last, for `useSyncExternalStore`. */
export const exchangeLog = {
  subscribe(listener: () => void): () => void {
    listeners.add(listener);
    return () => listeners.delete(listener);
  },
  get: (): readonly Exchange[] => exchanges,
  clear(): void {
    exchanges = [];
    tell();
  },
};

let isTold = false;

/** Tells the listeners once a frame, because a stream has many events in it. */
function tell(): void {
  if (isTold) return;
  isTold = true;
  requestAnimationFrame(() => {
    isTold = false;
    for (const listener of listeners) listener();
  });
}

/** An exchange that goes on. */
export class RunningExchange {
  readonly id: number = ++lastId;
  readonly #started = performance.now();
  #pieces: Uint8Array[] = [];
  #kept = 0;
  #size = 0;

  constructor(about: Pick<Exchange, "agent" | "method" | "url" | "requestHeaders">, body: Uint8Array<ArrayBuffer>) {
    const request = { bytes: body.slice(0, MAX_BODY), size: body.length };
    const exchange = { ...about, id: this.id, request, startedAt: Date.now(), responseHeaders: [], response: empty };
    exchanges = [...exchanges.slice(1 - MAX_EXCHANGES), exchange];
    tell();
  }

  answered(status: number, headers: Headers): void {
    this.#change({ status, responseHeaders: [...headers], headMs: performance.now() - this.#started });
  }

  took(piece: Uint8Array): void {
    this.#size += piece.length;
    if (this.#kept < MAX_BODY) {
      const part = piece.slice(0, MAX_BODY - this.#kept);
      this.#pieces.push(part);
      this.#kept += part.length;
    }
    this.#change({ response: { bytes: this.#joined(), size: this.#size } });
  }

  ended(error?: string): void {
    this.#change({ endMs: performance.now() - this.#started, ...(error !== undefined && { error }) });
  }

  #joined(): Uint8Array<ArrayBuffer> {
    const bytes = new Uint8Array(this.#kept);
    let at = 0;
    for (const piece of this.#pieces) {
      bytes.set(piece, at);
      at += piece.length;
    }
    this.#pieces = [bytes];
    return bytes;
  }

  #change(change: Partial<Exchange>): void {
    exchanges = exchanges.map((each) => (each.id === this.id ? { ...each, ...change } : each));
    tell();
  }
}
