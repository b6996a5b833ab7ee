import { exchangeWords } from "../texts/exchanges.js";
import { apiUrl } from "./base.js";
import { RunningExchange } from "./exchanges.js";
import { refusals } from "./own-fetch.js";

/** Names of headers whose values are secrets. */
export const secretHeaders: RegExp =
  /^(authorization|cookie|proxy-authorization|set-cookie)$|token|secret|api[-_]?key/i;

/**
 * Returns a `fetch` that reaches agents of any origin: this origin directly, others through the console's server, because
 * agents rarely allow foreign pages to call them. It notes each exchange.
 *
 * @param agent names the agent in the notes
 * @param onExchange called with the id of each exchange when it begins
 */
export function relayFetchOf(agent: string, onExchange?: (id: number) => void): typeof fetch {
  return async (input, init) => {
    const request = new Request(input, init);
    const { method, url, signal } = request;
    const body = new Uint8Array(await request.arrayBuffer());
    const exchange = new RunningExchange({ agent, method, url, requestHeaders: [...request.headers] }, body);
    onExchange?.(exchange.id);
    try {
      const answer = await send(request, body, signal);
      exchange.answered(answer.status, answer.headers);
      return watched(answer, exchange);
    } catch (error) {
      exchange.ended(whyEnded(error));
      throw error;
    }
  };
}

async function send(request: Request, body: Uint8Array<ArrayBuffer>, signal: AbortSignal): Promise<Response> {
  const { method, url, headers } = request;
  const hasBody = method !== "GET" && method !== "HEAD";
  if (new URL(url).origin === location.origin) {
    return await fetch(url, {
      method,
      headers,
      signal,
      redirect: request.redirect,
      credentials: "omit",
      ...(hasBody && { body }),
    });
  }
  const relayed = new Headers(headers);
  relayed.set("parley-relay-url", url);
  relayed.set("parley-relay-method", method);
  const answer = await fetch(apiUrl("relay"), {
    method: "POST",
    headers: relayed,
    signal,
    // Nothing is followed, because the relay renames the target. Otherwise the page would see no status of a redirect.
    redirect: "follow",
    ...(hasBody && { body }),
  });
  const fault = answer.headers.get("parley-relay-error");
  if (fault !== null) {
    if (fault === "ERR_NO_SESSION") refusals.tell();
    const { error } = (await answer.json()) as { error: string };
    throw new TypeError(error);
  }
  return asSent(answer);
}

/** Returns an answer with the headers that the relay renames, because a browser would act on them. */
function asSent(answer: Response): Response {
  const { body, status, statusText } = answer;
  const headers = new Headers(answer.headers);
  for (const name of ["location", "www-authenticate"]) {
    const value = headers.get(`parley-relay-${name}`);
    if (value === null) continue;
    headers.delete(`parley-relay-${name}`);
    headers.set(name, value);
  }
  return new Response(withoutBody.has(status) ? null : body, { status, statusText, headers });
}

/** Statuses of answers that a Response of a page cannot have a body with. */
const withoutBody: ReadonlySet<number> = new Set([0, 204, 205, 304]);

/** Passes the body on and notes what passes. */
function watched(answer: Response, exchange: RunningExchange): Response {
  if (answer.body === null || withoutBody.has(answer.status)) {
    exchange.ended();
    return answer;
  }
  const reader = answer.body.getReader();
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (done) {
          exchange.ended();
          controller.close();
          return;
        }
        exchange.took(value);
        controller.enqueue(value);
      } catch (error) {
        exchange.ended(whyEnded(error));
        controller.error(error);
      }
    },
    cancel(reason) {
      exchange.ended(exchangeWords.stopped);
      return reader.cancel(reason);
    },
  });
  const { status, statusText, headers } = answer;
  return new Response(body, { status, statusText, headers });
}

/** Returns the reason for the end of a call. It replaces the browser's unclear message for a call that the page ended. */
function whyEnded(error: unknown): string {
  if (error instanceof DOMException && error.name === "AbortError") return exchangeWords.stopped;
  return error instanceof Error ? error.message : String(error);
}
