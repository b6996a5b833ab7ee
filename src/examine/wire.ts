import type { HttpAnswer, HttpAsk, HttpClient } from "../client/platform.js";
import { mapStream } from "../core/map-stream.js";
import { essenceOf } from "../wire/media-type.js";
import { EXTENSIONS_PARAMETER } from "../wire/service-params.js";

/** Maximum number of characters that are kept of a body. */
const MAX_BODY = 4 * 1024 * 1024;

/** One request and its answer, as they are on the wire. */
export interface WireExchange {
  readonly ask: HttpAsk;
  readonly status: number;
  /** The media type without its parameters, in lower case. */
  readonly mediaType: string;
  readonly headers: Headers;
  /** Empty for a body that was not read. */
  readonly body: string;
  /** Returns a trailer of gRPC, or the header of this name if the answer has no body. */
  trailer(name: string): string | undefined;
}

/** Changes a request before it is sent. */
export type Change = (ask: HttpAsk) => HttpAsk;

/** The requests of a client as they are on the wire. They can be changed, and their answers read, below the client. */
export class Wire {
  readonly #extensions: string;
  #change: Change | undefined;
  #last: WireExchange | undefined;

  get last(): WireExchange | undefined {
    return this.#last;
  }

  /** @param extensions those that the agent requires, which each request names */
  constructor(extensions: readonly string[]) {
    this.#extensions = extensions.join(", ");
  }

  readonly tap = (http: HttpClient): HttpClient => {
    return async (given) => {
      const ask = this.#withExtensions(given);
      const sent = this.#change?.(ask) ?? ask;
      const answer = await http(sent);
      const decoder = new TextDecoder();
      const exchange = {
        ask: sent,
        status: answer.status,
        mediaType: essenceOf(answer.contentType),
        get headers() {
          return answer.headers;
        },
        body: "",
        trailer: (name: string) => answer.trailers?.get(name) ?? answer.headers.get(name) ?? undefined,
      };
      this.#last = exchange;
      return observed(answer, {
        text: (text) => {
          exchange.body = text;
        },
        chunk: (chunk) => {
          if (exchange.body.length < MAX_BODY) exchange.body += decoder.decode(chunk, { stream: true });
        },
      });
    };
  };

  #withExtensions(ask: HttpAsk): HttpAsk {
    if (this.#extensions === "") return ask;
    const isGiven = [...ask.headers].some(([name]) => name.toLowerCase() === EXTENSIONS_PARAMETER);
    return isGiven ? ask : withHeader(ask, EXTENSIONS_PARAMETER, this.#extensions);
  }

  /**
   * Makes a call and returns its last exchange, even if the client rejects the answer.
   *
   * @throws the call's error if no answer came
   */
  async exchange(call: () => Promise<unknown>, change?: Change): Promise<WireExchange> {
    this.#change = change;
    this.#last = undefined;
    try {
      await call();
    } catch (error) {
      if (this.#last === undefined) throw error;
    } finally {
      this.#change = undefined;
    }
    if (this.#last === undefined) throw new Error("The call sent no request.");
    return this.#last;
  }
}

/** Returns a request with another value of a header. @param name in lower case */
export function withHeader(ask: HttpAsk, name: string, value: string): HttpAsk {
  return { ...ask, headers: otherHeaders(ask, name).set(name, value) };
}

/** Returns a request without some headers. @param names in lower case */
export function withoutHeaders(ask: HttpAsk, ...names: readonly string[]): HttpAsk {
  return { ...ask, headers: otherHeaders(ask, ...names) };
}

/** A map, since an array would be read as one flat list. */
function otherHeaders({ headers }: HttpAsk, ...names: readonly string[]): Map<string, string> {
  return new Map([...headers].filter(([name]) => !names.includes(name.toLowerCase())));
}

/** Observes the body of an answer: the whole as text, or its chunks. */
interface BodyObserver {
  readonly text: (text: string) => void;
  readonly chunk: (chunk: Uint8Array) => void;
}

/** Returns an answer that passes its body to an observer while the caller reads it. */
export function observed(answer: HttpAnswer, { text: seeText, chunk: see }: BodyObserver): HttpAnswer {
  return {
    status: answer.status,
    contentType: answer.contentType,
    get headers() {
      return answer.headers;
    },
    get trailers() {
      return answer.trailers;
    },
    text: async (maxBytes) => {
      const text = await answer.text(maxBytes);
      seeText(text);
      return text;
    },
    chunks: () =>
      mapStream(answer.chunks(), {
        item: (chunk) => {
          see(chunk);
          return chunk;
        },
      }),
    read: (take) =>
      answer.read((chunk) => {
        see(chunk);
        take(chunk);
      }),
    cancel: () => answer.cancel(),
    ...(answer.field !== undefined && { field: (of, name) => answer.field?.(of, name) }),
  };
}
