import type { HttpAnswer, HttpAsk, HttpClient } from "../../../client/platform.js";
import { IDEMPOTENCY_KEY } from "../../../wire/service-params.js";

/** Keeps the latest request of a client. */
export class Recorder {
  /** The request as the client writes it, and the connections that send it. */
  #last: { readonly ask: HttpAsk; readonly http: HttpClient } | undefined;

  readonly tap = (http: HttpClient): HttpClient => {
    return (ask) => {
      this.#last = { ask, http };
      return http(ask);
    };
  };

  /**
   * Returns a function that sends the latest request again, with another id each time, so that no agent takes calls for
   * repetitions.
   *
   * @param id of its message
   */
  replay(id: string): () => Promise<HttpAnswer> {
    if (this.#last === undefined) throw new Error("no request was sent");
    const { ask, http } = this.#last;
    const { url, method } = ask;
    const given = [...ask.headers];
    // A map, since an array would be read as one flat list.
    const same = new Map(given);
    const hasKey = given.some(([name]) => name.toLowerCase() === IDEMPOTENCY_KEY);
    let count = 0;
    const write = writer(ask.body, id);
    return () => {
      const next = id.slice(0, -DIGITS) + (++count).toString(16).padStart(DIGITS, "0");
      // Requests that wait for a connection keep their headers.
      const headers = hasKey ? new Map(same).set(IDEMPOTENCY_KEY, next) : same;
      const body = write(next);
      return http(body === undefined ? { url, method, headers } : { url, method, headers, body });
    };
  }
}

/** Characters of an id that are replaced, from its end. */
const DIGITS = 12;

type Body = HttpAsk["body"];

/** Returns a function that returns the body with another id. */
function writer(body: Body, id: string): (next: string) => Body {
  if (typeof body === "string") {
    const at = body.indexOf(id);
    if (at < 0) return () => body;
    const [before, after] = [body.slice(0, at), body.slice(at + id.length)];
    return (next) => before + next + after;
  }
  const bytes = Buffer.from(body ?? []);
  const at = bytes.indexOf(id);
  if (at < 0) return () => body;
  return (next) => {
    const copy = new Uint8Array(bytes);
    Buffer.from(copy.buffer).write(next, at, "latin1");
    return copy;
  };
}
