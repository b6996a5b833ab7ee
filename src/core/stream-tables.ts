/** The tables of a session are renewed after this many new streams, or after eight times as many as are open if that is more. */
const RENEW_AFTER = 64;

/** Where Node keeps the open streams of a session, and those that have no id yet. */
interface State {
  streams: Map<unknown, unknown>;
  pendingStreams: Set<unknown>;
}

/**
 * Lets the ended streams of a session of `node:http2` be garbage-collected early. Node keeps the open ones in a Map and a Set, whose
 * inner tables are replaced often as streams come and go, and each table refers to the next one (`transient.ts` says why).
 * A full collection makes the table of that moment old; from then on all later tables, with every other stream of the
 * connection, stay until the next full collection, which again leaves an old table behind. This was about a seventh of a
 * call's CPU time for bare grpc-js, and more for a client. No old table refers to a new Map and Set, so they are replaced from time
 * to time.
 *
 * Where another version of Node keeps its streams elsewhere, nothing happens.
 */
export class StreamTables {
  readonly #state: State | undefined;
  #left = RENEW_AFTER;

  /** @param session of `node:http2`, of either side */
  constructor(session: object) {
    this.#state = stateOf(session);
  }

  /** There is one stream more. */
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

/** Also of one whose prototype is cut off from ours, as those of Node's own are. */
function isOf(kind: typeof Map | typeof Set, value: unknown): boolean {
  try {
    Reflect.get(kind.prototype, "size", value);
    return true;
  } catch {
    return false;
  }
}

/** A copy of the same class: one of Node's own, which programs cannot change. */
function copyOf<T extends Map<unknown, unknown> | Set<unknown>>(from: T): T {
  const copy = Reflect.construct(from.constructor, []) as T;
  from.forEach((value: unknown, key: unknown) => {
    if ("set" in copy) copy.set(key, value);
    else copy.add(value);
  });
  return copy;
}
