import { createHash } from "node:crypto";
import { type AgentCard, AgentCardSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { jsonWriter } from "../wire/json-writer.js";

/** Path of the card below the root of a host, or below `/{tenant}` (specification 8.2, RFC 8615). */
export const WELL_KNOWN_PATH = "/.well-known/agent-card.json";

/** How the card may be cached by its readers (specification 8.6). */
export interface CardCaching {
  /** For how many seconds a reader need not ask again. */
  readonly maxAgeSeconds: number;
  /** When the content came into being: cards do not change while a server runs. */
  readonly since: Date;
  /** Request headers that the content depends on, beside the URL. */
  readonly vary: readonly string[];
}

/** The headers that make a request conditional; undefined when absent. */
export interface Conditions {
  readonly ifNoneMatch: string | undefined;
  readonly ifModifiedSince: string | undefined;
}

/** The answer to GET; HEAD has the same headers without the body. */
export interface CardAnswer {
  readonly status: 200 | 304;
  readonly type: string | undefined;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Uint8Array | undefined;
}

/** Renders of a card that are kept: one for each address that it was asked for under. */
const MAX_KEPT = 256;

interface Rendered {
  readonly body: Buffer;
  readonly etag: string;
}

/**
 * Answers requests for cards. `key` names the card with its interfaces, which are rendered only when that key is not
 * among the ones kept.
 */
export function createCardAnswers(
  caching: CardCaching,
): (key: string, make: () => AgentCard, conditions: Conditions) => CardAnswer {
  const kept = new Map<string, Rendered>();
  // HTTP dates have no fraction, so neither has what they are compared with.
  const since = Math.floor(caching.since.getTime() / 1000) * 1000;
  const common: [string, string][] = [
    ["cache-control", `public, max-age=${caching.maxAgeSeconds}`],
    ["last-modified", new Date(since).toUTCString()],
  ];
  if (caching.vary.length > 0) common.push(["vary", caching.vary.join(", ")]);
  return (key, make, conditions) => {
    const { body, etag } = remember(kept, key, () => render(make()));
    const headers = [...common, ["etag", etag] as const];
    if (isFresh(conditions, etag, since)) return { status: 304, type: undefined, headers, body: undefined };
    return { status: 200, type: "application/json", headers, body };
  };
}

function render(card: AgentCard): Rendered {
  const body = Buffer.from(jsonWriter(AgentCardSchema)(card));
  return { body, etag: `"${createHash("sha256").update(body).digest("base64url")}"` };
}

function remember(kept: Map<string, Rendered>, key: string, make: () => Rendered): Rendered {
  const known = kept.get(key);
  if (known !== undefined) return known;
  const made = make();
  const oldest = kept.keys().next();
  if (kept.size >= MAX_KEPT && !oldest.done) kept.delete(oldest.value);
  kept.set(key, made);
  return made;
}

/** Whether the reader has this content already. The tag decides alone where one is given (RFC 9110, 13.2.2). */
function isFresh({ ifNoneMatch, ifModifiedSince }: Conditions, etag: string, since: number): boolean {
  if (ifNoneMatch !== undefined) {
    // Weak comparison: `W/` makes no difference (RFC 9110, 13.1.2).
    return ifNoneMatch.trim() === "*" || ifNoneMatch.match(/"[^"]*"/g)?.some((tag) => tag === etag) === true;
  }
  // A date that cannot be read is no condition: NaN compares false.
  return ifModifiedSince !== undefined && Date.parse(ifModifiedSince) >= since;
}
