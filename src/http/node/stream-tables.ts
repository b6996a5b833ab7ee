import type { ServerHttp2Session } from "node:http2";
import { types } from "node:util";

/** The tables of a session are renewed after this many new streams, or after twice as many as are open if that is more. */
const RENEW_AFTER = 64;

/** Where Node keeps the open streams of a session, and those that have no id yet. */
interface State {
  streams: Map<unknown, unknown>;
  pendingStreams: Set<unknown>;
}

/**
 * Lets the ended streams of a session be garbage-collected early. Node keeps the open ones in a Map and a Set, whose inner
 * tables are replaced often as streams come and go, and each table refers to the next one (`core/transient.ts` says why).
 * A full collection makes the table of that moment old; from then on all later tables, with every other stream of the
 * connection, stay until the next full collection, which again leaves an old table behind. This was about a seventh of a
 * call's CPU time for bare grpc-js. No old table refers to a new Map and Set, so they are replaced from time to time.
 *
 * Where another version of Node keeps its streams elsewhere, nothing happens.
 */
export function renewStreamTables(session: ServerHttp2Session): void {
  const state = stateOf(session);
  if (state === undefined) return;
  let left = RENEW_AFTER;
  session.on("stream", () => {
    if (--left > 0) return;
    state.streams = copyOf(state.streams);
    state.pendingStreams = copyOf(state.pendingStreams);
    left = Math.max(RENEW_AFTER, 2 * state.streams.size);
  });
}

function stateOf(session: ServerHttp2Session): State | undefined {
  for (const symbol of Object.getOwnPropertySymbols(session)) {
    if (symbol.description !== "state") continue;
    const { streams, pendingStreams } = Object(Reflect.get(session, symbol)) as Partial<State>;
    if (types.isMap(streams) && types.isSet(pendingStreams)) return Reflect.get(session, symbol) as State;
  }
  return undefined;
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
