/**
 * Number of new streams after which the tables of a session are replaced, or eight times the open streams if that is
 * more.
 */
const RENEW_AFTER = 64;

/** Node's tables of the open streams of a session, and of those that have no id yet. */
interface State {
  streams: Map<unknown, unknown>;
  pendingStreams: Set<unknown>;
}

/**
 * Lets the ended streams of a session of `node:http2` be garbage-collected early. Node keeps the open ones in a Map and
 * a Set. Their inner tables are replaced often as streams come and go, and each table refers to the next one (`maps.ts`
 * explains why). A full collection moves the current table to the old generation. From then on all later tables stay,
 * with every other stream of the connection, until the next full collection, which again leaves an old table behind.
 * This took about a seventh of a call's CPU time for bare grpc-js, and more for a client. No old table refers to a new
 * Map and Set, so this class replaces both from time to time.
 *
 * If another version of Node keeps its streams elsewhere, nothing happens.
 */
export class StreamTables {
  readonly #state: State | undefined;
  #left = RENEW_AFTER;

  /** @param session a session of `node:http2`, of a client or server */
  constructor(session: object) {
    this.#state = stateOf(session);
  }

  /** Counts a new stream. */
  began(): void {
    if (--this.#left > 0) return;
    const state = this.#state;
    if (state === undefined) return;
    state.streams = copyOf(state.streams);
    state.pendingStreams = copyOf(state.pendingStreams);
    this.#left = Math.max(RENEW_AFTER, 8 * state.streams.size);
  }
}

function stateOf(session: object): State | undefined {
  for (const symbol of Object.getOwnPropertySymbols(session)) {
    if (symbol.description !== "state") continue;
    const { streams, pendingStreams } = Object(Reflect.get(session, symbol)) as Partial<State>;
    if (isOf(Map, streams) && isOf(Set, pendingStreams)) return Reflect.get(session, symbol) as State;
  }
  return undefined;
}

/** Like `instanceof`, but works for Node's internal classes, whose prototypes are separate from the global ones. */
function isOf(kind: typeof Map | typeof Set, value: unknown): boolean {
  try {
    Reflect.get(kind.prototype, "size", value);
    return true;
  } catch {
    return false;
  }
}

/** A copy of the same class, which may be one of Node's internal classes. */
function copyOf<T extends Map<unknown, unknown> | Set<unknown>>(from: T): T {
  const copy = Reflect.construct(from.constructor, []) as T;
  from.forEach((value: unknown, key: unknown) => {
    if ("set" in copy) copy.set(key, value);
    else copy.add(value);
  });
  return copy;
}
