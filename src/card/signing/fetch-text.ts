import { Gathered } from "../../core/bytes.js";

/** Something that could not be fetched; the message says why in a sentence. */
export class FetchTextError extends Error {
  override name = "FetchTextError";
}

/** How a text is fetched. */
export interface FetchTextOptions {
  /** The longest that all of it may take, in milliseconds. */
  readonly timeoutMs: number;
  /** The most that it may have, in bytes. */
  readonly maxBytes: number;
  readonly fetch?: typeof fetch | undefined;
}

/**
 * Fetches a text from a URL. Redirects are not followed: who is asked is what was trusted.
 *
 * @throws FetchTextError
 */
export async function fetchText(url: string, options: FetchTextOptions): Promise<string> {
  const { timeoutMs, maxBytes, fetch: ask = fetch } = options;
  const signal = AbortSignal.timeout(timeoutMs);
  try {
    const answer = await ask(url, { redirect: "manual", signal, headers: { accept: "application/json, */*;q=0.5" } });
    if (answer.status !== 200) {
      await answer.body?.cancel();
      const where = answer.headers.get("location");
      throw new FetchTextError(
        `${url} answers with status ${answer.status}${where === null ? "" : `, which leads to ${where}`}.`,
      );
    }
    return await textOf(answer, url, maxBytes);
  } catch (cause) {
    if (cause instanceof FetchTextError) throw cause;
    if (signal.aborted) throw new FetchTextError(`${url} did not answer within ${timeoutMs} ms.`, { cause });
    const { message, cause: inner } = cause as Error;
    const why = inner instanceof Error && inner.message !== "" ? inner.message : message;
    throw new FetchTextError(`${url} cannot be fetched (${why}).`, { cause });
  }
}

async function textOf(answer: Response, url: string, maxBytes: number): Promise<string> {
  const reader = answer.body?.getReader();
  const gathered = new Gathered();
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
    if (done) break;
    if (gathered.size + value.byteLength > maxBytes) {
      await reader?.cancel();
      throw new FetchTextError(`${url} answers with more than ${maxBytes} bytes.`);
    }
    gathered.push(value);
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(gathered.bytes);
  } catch {
    throw new FetchTextError(`${url} answers with what is no UTF-8.`);
  }
}
