import * as http from "node:http";
import * as https from "node:https";
import { Readable } from "node:stream";
import { callAll } from "../core/event-loop.js";
import { parseUrl, withoutBrackets } from "../core/net.js";
import type { HttpRequest } from "../http/request.js";
import type { BodySource, HttpResponse } from "../http/response.js";
import type { TargetGuard } from "../push/target/guard.js";
import { noStore, safeHeaders } from "./files.js";
import { headersToAgent } from "./relay-headers.js";
import { json } from "./responses.js";
import { NoAnswer, passOn } from "./upstream.js";
import { WatchedBody } from "./watched-body.js";

/** Maximum number of requests in progress, including streams: a browser has up to some dozen for each of its tabs. */
export const relayLimits: { readonly requests: number } = { requests: 256 };

/** Methods that are passed on. */
const methods: ReadonlySet<string> = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

/** Passes requests of the web app on to agents, because agents rarely allow the scripts of other origins. */
export class Relay {
  /** Undefined to call every address. */
  readonly #guard: Pick<TargetGuard, "admit" | "lookup"> | undefined;
  readonly #open = new Set<HttpRequest>();
  #isClosed = false;

  constructor(guard?: Pick<TargetGuard, "admit" | "lookup">) {
    this.#guard = guard;
  }

  /** Fetches documents of agents from the addresses that are called; undefined for all addresses. */
  get fetch(): typeof fetch | undefined {
    return this.#guard && guardedFetch(this.#guard);
  }

  /** True if only public addresses are called. */
  get isGuarded(): boolean {
    return this.#guard !== undefined;
  }

  /** Aborts the requests in progress, and rejects further ones. */
  close(): void {
    this.#isClosed = true;
    callAll([...this.#open].map((request) => () => request.abort()));
  }

  /** Answers a request that names its target in `parley-relay-url`. */
  async answer(request: HttpRequest): Promise<HttpResponse> {
    const url = relayTarget(request.header("parley-relay-url"));
    const method = request.header("parley-relay-method") ?? "POST";
    if (url === undefined || !methods.has(method)) {
      const wrong = url === undefined ? "url is not a URL of http or https" : "method is not a method to pass on";
      return relayFailure(400, "ERR_INVALID_RELAY", `The header parley-relay-${wrong}.`);
    }
    if (this.#isClosed) return relayFailure(502, "ERR_CLOSED", "The console's server is shutting down.");
    if (this.#open.size >= relayLimits.requests) {
      return relayFailure(502, "ERR_TOO_MANY_REQUESTS", "The console passes on as many requests as it can.");
    }
    this.#open.add(request);
    const end = (): void => void this.#open.delete(request);
    try {
      this.#guard?.admit(url.hostname);
      const headers = headersToAgent(request.headers);
      const answer = await passOn(request, { url, method, headers, lookup: this.#guard?.lookup });
      const passed = [...(answer.headers ?? [])];
      const hasCacheRule = passed.some(([name]) => name === "cache-control");
      const all = [...passed, ...safeHeaders, ...(hasCacheRule ? [] : [noStore])];
      return { ...answer, headers: all, body: new WatchedBody(answer.body as BodySource, end) };
    } catch (error) {
      end();
      if (error instanceof NoAnswer) return relayFailure(502, error.code, error.message);
      if ((error as NodeJS.ErrnoException).code === "ERR_FORBIDDEN_TARGET") {
        return relayFailure(502, "ERR_FORBIDDEN_TARGET", "The host is not public, and this console calls public ones.");
      }
      throw error;
    }
  }
}

/** Returns the answer to a request that was not passed on, or got no answer. Its header tells it from an agent's. */
export function relayFailure(status: number, code: string, error: string): HttpResponse {
  return json(status, { error, code }, ["parley-relay-error", code]);
}

function relayTarget(given: string | undefined): URL | undefined {
  const url = given === undefined ? undefined : parseUrl(given);
  if (url === undefined || !/^https?:$/.test(url.protocol)) return undefined;
  return url.username === "" && url.password === "" ? url : undefined;
}

/** Returns a `fetch` for documents of agents, which connects to the addresses that a guard permits and to no others. */
export function guardedFetch(guard: Pick<TargetGuard, "admit" | "lookup">): typeof fetch {
  return async (input, init) => {
    const { url, headers, signal } = new Request(input, init);
    const { protocol, hostname, port, pathname, search } = new URL(url);
    guard.admit(hostname);
    const request = (protocol === "https:" ? https : http).get({
      host: withoutBrackets(hostname),
      ...(port !== "" && { port }),
      path: pathname + search,
      headers: Object.fromEntries(headers),
      lookup: guard.lookup,
      agent: false,
      signal,
    });
    const answer = await new Promise<http.IncomingMessage>((resolve, reject) => {
      request.once("response", resolve).on("error", reject);
    });
    // The reader of the body receives the error.
    answer.on("error", () => {});
    const { statusCode: status = 502 } = answer;
    if (status === 200) return new Response(Readable.toWeb(answer) as ReadableStream<Uint8Array>, { status });
    answer.destroy();
    return new Response(null, { status });
  };
}
