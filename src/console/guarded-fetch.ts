import * as http from "node:http";
import * as https from "node:https";
import { Readable } from "node:stream";
import { withoutBrackets } from "../core/net.js";
import type { TargetGuard } from "../push/target/guard.js";

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
