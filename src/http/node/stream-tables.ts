import type { ServerHttp2Session } from "node:http2";
import { types } from "node:util";

/** Streams that a session begins before its tables are renewed, and at least twice as many as it has open. */
const RENEW_AFTER = 64;

/** Where Node keeps the open streams of a session, and those that have no number yet. */
interface State {
  streams: Map<unknown, unknown>;
  pendingStreams: Set<unknown>;
}

/**
 * Keeps the streams of a session that are over from living on as garbage. Node notes the open ones in a Map and a Set, whose
 * tables are replaced by the dozen as streams come and go, and each refers to the next one (`core/transient.ts` says why).
 * A full collection makes the table of that moment old; from then on all that follow, with every other stream of the
 * connection, wait for the next full collection, which again leaves an old table behind. It was about a seventh of a
 * call's CPU time for bare grpc-js. A new Map and Set, now and then, are referred to by no old table.
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

/** A copy of the same class, which is one of Node's own, that no program can change. */
function copyOf<T extends Map<unknown, unknown> | Set<unknown>>(from: T): T {
  const copy = Reflect.construct(from.constructor, []) as T;
  from.forEach((value: unknown, key: unknown) => {
    if ("set" in copy) copy.set(key, value);
    else copy.add(value);
  });
  return copy;
}
