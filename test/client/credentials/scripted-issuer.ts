import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

/** An issuer's answer: a status and a body, or a function that writes to the connection. */
export type Script =
  | { readonly status?: number; readonly headers?: Record<string, string>; readonly body: unknown }
  | ((response: ServerResponse) => void);

/** A request to the issuer. */
export interface Asked {
  readonly path: string;
  readonly form: URLSearchParams;
  readonly authorization: string | undefined;
}

/** An issuer that answers over sockets as the test says, correctly or not. */
export class ScriptedIssuer {
  readonly url: string;
  readonly asked: Asked[] = [];
  /** Answers by path. Other paths answer 404. */
  readonly scripts = new Map<string, (asked: Asked) => Script>();
  readonly #server: Server;
  #count = 0;

  private constructor(server: Server) {
    this.#server = server;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    this.wellBehaved();
  }

  static async start(): Promise<ScriptedIssuer> {
    let issuer: ScriptedIssuer | undefined;
    const server = createServer((request, response) => void issuer?.answer(request, response));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
    issuer = new ScriptedIssuer(server);
    return issuer;
  }

  get metadata(): Record<string, unknown> {
    return { issuer: this.url, token_endpoint: `${this.url}/token`, authorization_endpoint: `${this.url}/auth` };
  }

  wellBehaved(): void {
    this.asked.length = 0;
    this.scripts.clear();
    this.scripts.set("/.well-known/openid-configuration", () => ({ body: this.metadata }));
    this.scripts.set("/token", () => ({ body: this.token() }));
  }

  /** An answer of the token endpoint, with a new token each time. */
  token(more: object = {}): object {
    return { access_token: `token-${++this.#count}`, token_type: "Bearer", expires_in: 600, ...more };
  }

  count(path = "/token"): number {
    return this.asked.filter((it) => it.path === path).length;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on("error", () => {});
    const { pathname: path } = new URL(request.url ?? "/", this.url);
    const asked = {
      path,
      form: new URLSearchParams(await text(request)),
      authorization: request.headers.authorization,
    };
    this.asked.push(asked);
    const script = this.scripts.get(path)?.(asked) ?? { status: 404, body: "" };
    if (typeof script === "function") return script(response);
    const { status = 200, headers = {}, body } = script;
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end(typeof body === "string" ? body : JSON.stringify(body));
  }
}
