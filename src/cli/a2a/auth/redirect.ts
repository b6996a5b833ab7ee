import { once } from "node:events";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { orAborted } from "../../../core/async.js";
import { parseUrl, withoutBrackets } from "../../../core/net.js";
import { usageOf } from "../errors.js";

/** A browser that came back from the issuer. */
export interface Returned {
  readonly url: URL;
  /** Shows the result to the user. */
  answer(isDone: boolean): void;
}

/** Waits on the loopback interface for the browser that comes back from the issuer (RFC 8252, 7.3). */
export class Redirect {
  readonly url: string;
  readonly #server: Server;
  readonly #returned: Promise<Returned>;
  #resolve: (returned: Returned) => void = () => {};
  #state: string | null = null;
  /** The answer to the sign-in. */
  #last: ServerResponse | undefined;

  private constructor(server: Server, uri: URL) {
    this.#server = server;
    const own = new URL(uri);
    own.port = String((server.address() as AddressInfo).port);
    this.url = own.href;
    this.#returned = new Promise((resolve) => {
      this.#resolve = resolve;
    });
    server.on("request", (request, response) => this.#answer(request.url ?? "", response));
  }

  /** @param uri without a port for any @throws Failure for a port that is in use */
  static async open(uri: URL): Promise<Redirect> {
    const server = createServer({ requestTimeout: 10_000, maxHeaderSize: 32 * 1024 });
    server.listen(Number(uri.port), withoutBrackets(uri.hostname));
    await once(server, "listening").catch(usageOf("--redirect-uri: "));
    return new Redirect(server, uri);
  }

  /** Accepts the request with this state alone, since any program or page may send requests. */
  expect(state: string | null): void {
    this.#state = state;
  }

  returned(signal: AbortSignal): Promise<Returned> {
    return orAborted(this.#returned, signal);
  }

  close(): void {
    this.#server.close();
    // Browsers open connections in advance, which would keep the process alive.
    const end = (): void => this.#server.closeAllConnections();
    if (this.#last === undefined || this.#last.writableFinished) end();
    else this.#last.once("finish", end);
  }

  #answer(path: string, response: ServerResponse): void {
    const url = parseUrl(path, this.url);
    const isOurs =
      url?.pathname === new URL(this.url).pathname &&
      this.#state !== null &&
      url.searchParams.get("state") === this.#state;
    if (url === undefined || !isOurs) return send(response, 404, "Nothing is here.");
    // The answer of an issuer is good once.
    this.#state = null;
    this.#last = response;
    const answer = (isDone: boolean): void =>
      send(
        response,
        isDone ? 200 : 400,
        isDone ? "You are logged in. You can close this page." : "The login failed. The terminal shows why.",
      );
    this.#resolve({ url, answer });
  }
}

function send(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, {
    "content-type": "text/plain; charset=utf-8",
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    connection: "close",
  });
  response.end(`${text}\n`);
}
