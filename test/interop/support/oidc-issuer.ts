import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair, type JWK } from "jose";
import Provider from "oidc-provider";

/** Audience of the tokens. */
export const AUDIENCE = "https://agents.example";

async function newKey(kid: string): Promise<JWK> {
  const { privateKey } = await generateKeyPair("RS256", { extractable: true });
  return { ...(await exportJWK(privateKey)), kid, alg: "RS256", use: "sig" };
}

/** A client as `oidc-provider` registers it. */
export type RegisteredClient = Readonly<Record<string, unknown>> & { readonly client_id: string };

/** A client as `oidc-provider` passes it to its configuration. */
interface Client {
  readonly clientId: string;
}

/**
 * `oidc-provider`, configured by its documentation, with a user that signs in with a click. It can rotate its keys,
 * answer slowly and disappear. It records the requests to its endpoints.
 */
export class OidcIssuer {
  readonly url: string;
  readonly asked: { readonly path: string; readonly body: string }[] = [];
  /** Lifetime of access tokens in seconds. */
  tokenSeconds = 600;
  /** Lifetimes for single clients. */
  readonly secondsOf = new Map<string, number>();
  /** The user's decision on the page of an interaction. */
  user: "agrees" | "refuses" = "agrees";
  /** Requests wait for this promise. */
  gate: Promise<void> = Promise.resolve();
  readonly #server: Server;
  readonly #clients: readonly RegisteredClient[];
  #keys: JWK[];
  #provider: Provider;

  private constructor(server: Server, clients: readonly RegisteredClient[], key: JWK) {
    this.#server = server;
    this.#clients = clients;
    this.#keys = [key];
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    this.#provider = this.#make();
  }

  static async start(clients: readonly RegisteredClient[]): Promise<OidcIssuer> {
    let issuer: OidcIssuer | undefined;
    const server = createServer((request, response) => void issuer?.answer(request, response));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
    issuer = new OidcIssuer(server, clients, await newKey("first"));
    return issuer;
  }

  /** Number of requests to a path, optionally by the client that sends its id in the body. */
  count(path: string, client?: string): number {
    const asked = this.asked.filter((it) => it.path === path);
    if (client === undefined) return asked.length;
    return asked.filter(({ body }) => new URLSearchParams(body).get("client_id") === client).length;
  }

  /** Signs with a new key. Tokens of the old key stay valid while it is kept. */
  async rotate({ keepOld = true } = {}): Promise<void> {
    const key = await newKey(`k${Math.random()}`);
    this.#keys = keepOld ? [key, ...this.#keys] : [key];
    this.#provider = this.#make();
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async startAgain(): Promise<void> {
    const { port } = new URL(this.url);
    await new Promise<void>((resolve) => this.#server.listen(Number(port), "127.0.0.1", () => resolve()));
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    await this.gate;
    const { pathname } = new URL(request.url ?? "/", this.url);
    if (pathname.startsWith("/interaction/")) return this.#interact(request, response);
    const asked = { path: pathname, body: "" };
    this.asked.push(asked);
    request.on("data", (chunk: Buffer) => {
      asked.body += chunk.toString();
    });
    this.#provider.callback()(request, response);
  }

  /** Signs the user in, and grants or refuses the client's request. */
  async #interact(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const provider = this.#provider;
    const { prompt, params, session } = await provider.interactionDetails(request, response);
    const more = { mergeWithLastSubmission: true };
    if (this.user === "refuses") {
      const no = { error: "access_denied", error_description: "The user said no." };
      return provider.interactionFinished(request, response, no, more);
    }
    if (prompt.name === "login") {
      return provider.interactionFinished(request, response, { login: { accountId: "alice" } }, more);
    }
    const grant = new provider.Grant({ accountId: session?.accountId ?? "alice", clientId: String(params.client_id) });
    grant.addOIDCScope("openid offline_access");
    grant.addResourceScope(AUDIENCE, String(params.scope ?? ""));
    return provider.interactionFinished(request, response, { consent: { grantId: await grant.save() } }, more);
  }

  #make(): Provider {
    const ttl = ({ clientId }: Client): number => this.secondsOf.get(clientId) ?? this.tokenSeconds;
    const ttlOf = (_: unknown, _token: unknown, client: Client): number => ttl(client);
    return new Provider(this.url, {
      clients: this.#clients,
      jwks: { keys: [...this.#keys] },
      cookies: { keys: ["only for tests"] },
      clientBasedCORS: () => true,
      scopes: ["openid", "offline_access"],
      findAccount: (_: unknown, accountId: string) => ({ accountId, claims: () => ({ sub: accountId }) }),
      interactions: { url: (_: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
      issueRefreshToken: async () => true,
      rotateRefreshToken: true,
      ttl: { ClientCredentials: ttlOf, AccessToken: ttlOf },
      features: {
        devInteractions: { enabled: false },
        clientCredentials: { enabled: true },
        deviceFlow: { enabled: true },
        introspection: { enabled: true, allowedPolicy: () => true },
        resourceIndicators: {
          enabled: true,
          defaultResource: () => AUDIENCE,
          useGrantedResource: () => true,
          getResourceServerInfo: (_: unknown, _resource: string, client: Client) => ({
            scope: "read write admin",
            audience: AUDIENCE,
            accessTokenFormat: "jwt",
            accessTokenTTL: ttl(client),
          }),
        },
      },
    } as never);
  }
}

/** A minimal browser: it follows redirects, keeps cookies and submits forms. */
export class PlainBrowser {
  readonly #cookies = new Map<string, string>();

  /** Opens a page. Stops at the first URL that begins with `until`, without opening it. */
  async open(
    url: string | URL,
    until = "no such place",
    init: RequestInit = {},
  ): Promise<{ url: string; html: string }> {
    let [at, how] = [String(url), init];
    for (let hops = 0; hops < 20; hops++) {
      if (at.startsWith(until)) return { url: at, html: "" };
      const cookie = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join("; ");
      const answer = await fetch(at, { ...how, headers: { ...how.headers, cookie }, redirect: "manual" });
      for (const set of answer.headers.getSetCookie()) {
        const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
        this.#cookies.set(name, value);
      }
      const location = answer.headers.get("location");
      if (location === null) return { url: at, html: await answer.text() };
      await answer.body?.cancel();
      [at, how] = [new URL(location, at).href, {}];
    }
    throw new Error("too many redirects");
  }

  /** Submits the form of a page with additional fields. */
  submit({ url, html }: { url: string; html: string }, fields: Readonly<Record<string, string>>) {
    const [, action = url] = /<form[^>]*action="([^"]+)"/.exec(html) ?? [];
    const hidden = [...html.matchAll(/<input[^>]*name="([^"]+)"[^>]*value="([^"]*)"/g)].map(([, name, value]) => [
      name,
      value,
    ]);
    const body = new URLSearchParams({ ...Object.fromEntries(hidden), ...fields });
    return this.open(new URL(action, url), undefined, { method: "POST", body });
  }
}
