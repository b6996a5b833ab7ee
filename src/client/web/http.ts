import { Gathered } from "../../core/bytes.js";
import { A2AError } from "../../core/error.js";
import { parseUrl, withoutSecrets } from "../../core/net.js";
import type { StopSignal } from "../calls/stop-signal.js";
import { clientError } from "../errors/errors.js";
import type { HttpAnswer, HttpAsk, HttpClient } from "../platform.js";

/** Status reported for a redirect that is not followed: pages see neither its status nor its location. */
const HIDDEN_REDIRECT = 302;

/** Creates an HTTP client over fetch. @param closed stops every call */
export function fetchClient(fetch: typeof globalThis.fetch, closed?: StopSignal): HttpClient {
  let cache: { readonly cache?: "no-store" } | undefined;
  return async ({ url, method, headers, body, signal }: HttpAsk) => {
    if (closed?.aborted) throw closed.reason;
    cache ??= withoutCache();
    const controller = new AbortController();
    const onAbort = (): void => controller.abort((signal?.aborted ? signal : closed)?.reason);
    if (signal?.aborted) onAbort();
    signal?.addEventListener("abort", onAbort);
    closed?.addEventListener("abort", onAbort);
    const release = (): void => {
      signal?.removeEventListener("abort", onAbort);
      closed?.removeEventListener("abort", onAbort);
    };
    try {
      const request = {
        method,
        headers: fetchHeaders(headers),
        redirect: "manual",
        signal: controller.signal,
        ...cache,
      } as const;
      const response = await fetch(url, body === undefined ? request : { ...request, body });
      return new FetchAnswer(response, controller, release);
    } catch (error) {
      release();
      throw controller.signal.aborted ? controller.signal.reason : unreachable(error, url);
    }
  };
}

/**
 * Keeps answers out of a browser's cache. Cloudflare Workers reject the option before the compatibility date
 * 2024-11-11.
 */
function withoutCache(): { readonly cache?: "no-store" } {
  const request = { method: "GET", cache: "no-store" } as const;
  try {
    new Request("http://localhost", request);
    return { cache: request.cache };
  } catch {
    return {};
  }
}

/**
 * Returns the error of a request without an answer. A browser does not report whether CORS withheld the answer, so in a
 * page the error of a request to another origin names the origin that the server may have to allow.
 */
function unreachable(thrown: unknown, url: string): A2AError {
  const error = clientError(thrown);
  // The error of a URL with credentials, which fetch does not take, quotes it.
  if (error.message.includes(url))
    return new A2AError(error.reason, error.message.replaceAll(url, withoutSecrets(url)));
  const page = (globalThis as { readonly location?: { readonly origin?: unknown } }).location?.origin;
  if (error.reason !== "UNAVAILABLE" || typeof page !== "string") return error;
  const server = parseUrl(url)?.origin ?? page;
  if (server === page) return error;
  const hint = `Unless ${server} is down, it does not allow this page's origin, ${page}, by CORS (cors: ["${page}"]).`;
  return new A2AError("UNAVAILABLE", `${error.message} ${hint}`, { cause: thrown });
}

/** Converts headers for fetch. */
function fetchHeaders(headers: HttpAsk["headers"]): Headers | [string, string][] {
  return headers instanceof Headers ? headers : [...headers];
}

class FetchAnswer implements HttpAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly headers: Headers;
  readonly #response: Response;
  readonly #controller: AbortController;
  readonly #release: () => void;

  constructor(response: Response, controller: AbortController, release: () => void) {
    this.status = response.type === "opaqueredirect" ? HIDDEN_REDIRECT : response.status;
    this.headers = response.headers;
    this.contentType = response.headers.get("content-type") ?? "";
    this.#response = response;
    this.#controller = controller;
    this.#release = release;
  }

  async text(maxBytes: number): Promise<string> {
    const gathered = new Gathered();
    for await (const chunk of this.chunks()) {
      gathered.push(chunk);
      if (gathered.size <= maxBytes) continue;
      throw new A2AError("INVALID_AGENT_RESPONSE", `The answer has more than ${maxBytes} bytes.`);
    }
    return new TextDecoder().decode(gathered.bytes);
  }

  async *chunks(): AsyncGenerator<Uint8Array> {
    // Some runtimes cannot iterate a stream, and no runtime delays its end until the connection is closed.
    const reader = this.#response.body?.getReader();
    let isWhole = false;
    try {
      while (reader !== undefined) {
        const { done, value } = await reader.read();
        if (done) break;
        yield value;
      }
      isWhole = true;
    } catch (error) {
      isWhole = true;
      throw this.#controller.signal.aborted ? this.#controller.signal.reason : clientError(error);
    } finally {
      if (!isWhole) this.cancel();
      this.#release();
    }
  }

  async read(take: (chunk: Uint8Array) => void): Promise<void> {
    for await (const chunk of this.chunks()) take(chunk);
  }

  cancel(): void {
    this.#release();
    this.#controller.abort(new A2AError("CANCELLED", "The response is no longer needed."));
  }
}
