import { createHash } from "node:crypto";
import { type AgentCard, AgentCardSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { evictOldest } from "../core/maps.js";
import { namesTag } from "../wire/entity-tag.js";
import { jsonWriter } from "../wire/json-writer.js";

/** Caching of a document by its readers (specification 8.6). */
export interface Caching {
  /** Time for which a reader may use its copy, in seconds. */
  readonly maxAgeSeconds: number;
  /** Creation time of the content: cards and keys do not change while a server runs. */
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
export interface DocumentAnswer {
  readonly status: 200 | 304 | 404;
  readonly type: string | undefined;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Uint8Array | undefined;
}

/** Maximum number of rendered documents in memory. A card has one for each address at which it was requested. */
const MAX_KEPT = 256;

interface Rendered {
  readonly body: Buffer;
  readonly etag: string;
}

/** Answers requests for documents. Each has a key and is created only if it is not in memory. */
interface Documents {
  now(key: string, make: () => string, conditions: Conditions): DocumentAnswer;
  /**
   * Serves a document that is created asynchronously. After a failure the next request creates it again. Undefined: the
   * document does not exist.
   */
  later(
    key: string,
    make: () => Promise<string | undefined>,
    conditions: Conditions,
  ): DocumentAnswer | Promise<DocumentAnswer>;
}

/** @param type media type of the documents. */
export function createDocuments(type: string, caching: Caching): Documents {
  const kept = new Map<string, Rendered>();
  // HTTP dates have no fraction, so it is removed before the comparison.
  const since = Math.floor(caching.since.getTime() / 1000) * 1000;
  const common: [string, string][] = [
    ["cache-control", `public, max-age=${caching.maxAgeSeconds}`],
    ["last-modified", new Date(since).toUTCString()],
  ];
  if (caching.vary.length > 0) common.push(["vary", caching.vary.join(", ")]);
  const absent: DocumentAnswer = { status: 404, type: undefined, headers: common, body: undefined };
  const answer = ({ body, etag }: Rendered, conditions: Conditions): DocumentAnswer => {
    const headers = [...common, ["etag", etag] as const];
    if (isFresh(conditions, etag, since)) return { status: 304, type: undefined, headers, body: undefined };
    return { status: 200, type, headers, body };
  };
  return {
    now: (key, make, conditions) => answer(kept.get(key) ?? keepRendered(kept, key, make()), conditions),
    later: (key, make, conditions) => {
      const known = kept.get(key);
      if (known !== undefined) return answer(known, conditions);
      return make().then((text) =>
        text === undefined ? absent : answer(kept.get(key) ?? keepRendered(kept, key, text), conditions),
      );
    },
  };
}

/** Returns the entity tag of a card. It is weak, because each binding writes the card in its own form. */
export function cardTag(card: AgentCard): string {
  return `W/"${createHash("sha256").update(cardText(card)).digest("base64url")}"`;
}

/** The JSON of a card, as readers get it. */
export function cardText(card: AgentCard): string {
  return jsonWriter(AgentCardSchema)(card);
}

function keepRendered(kept: Map<string, Rendered>, key: string, text: string): Rendered {
  const body = Buffer.from(text);
  const made = { body, etag: `"${createHash("sha256").update(body).digest("base64url")}"` };
  evictOldest(kept, MAX_KEPT);
  kept.set(key, made);
  return made;
}

/** True if the reader already has this content. The tag alone decides if one is given (RFC 9110, 13.2.2). */
function isFresh({ ifNoneMatch, ifModifiedSince }: Conditions, etag: string, since: number): boolean {
  if (ifNoneMatch !== undefined) return namesTag(ifNoneMatch, etag);
  // An unreadable date is ignored: NaN compares false.
  return ifModifiedSince !== undefined && Date.parse(ifModifiedSince) >= since;
}
