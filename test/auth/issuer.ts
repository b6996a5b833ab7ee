import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { type CryptoKey, exportJWK, exportSPKI, generateKeyPair, SignJWT } from "jose";

/** The issuer's answer to a request for its keys. */
export type Mood = "well" | "fails" | "stalls" | "floods" | "lies" | "redirects";

interface Key {
  readonly kid: string;
  readonly privateKey: CryptoKey;
  readonly publicKey: CryptoKey;
}

/** Claims that differ from those of an ordinary token; undefined leaves one out. */
export type Claims = Readonly<Record<string, unknown>>;

/** An issuer of tokens on this machine. Tests rotate its keys and choose how it misbehaves. */
export class TestIssuer {
  readonly url: string;
  mood: Mood = "well";
  /** Number of requests for keys. */
  asked = 0;
  /** Members of its metadata that are added or replaced. */
  metadata: Readonly<Record<string, unknown>> = {};
  /**
   * Answers about opaque tokens (RFC 7662): an object, JSON text or an HTTP status. `introspected` counts the
   * questions.
   */
  readonly opaque = new Map<string, object | string | number>();
  introspected = 0;
  /** Number of open questions, and the maximum so far. The issuer answers them when `whenOpened` resolves. */
  open = 0;
  mostOpen = 0;
  whenOpened: Promise<void> | undefined;
  /** All tokens that were issued. */
  readonly made: string[] = [];
  readonly #server: Server;
  #keys: Key[];

  private constructor(server: Server, keys: Key[]) {
    this.#server = server;
    this.#keys = keys;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  static async start(): Promise<TestIssuer> {
    const keys = [await newKey("k1")];
    let issuer: TestIssuer | undefined;
    const server = createServer((request, response) => void issuer?.answer(request, response));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
    issuer = new TestIssuer(server, keys);
    return issuer;
  }

  get jwks(): string {
    return `${this.url}/jwks`;
  }

  /** Adds a key. Keeps or removes the old ones. */
  async rotate({ keepOld = true } = {}): Promise<void> {
    const key = await newKey(`k${Math.random()}`);
    this.#keys = keepOld ? [...this.#keys, key] : [key];
  }

  /** A token signed with the newest key. */
  async token(claims: Claims = {}, header: Record<string, unknown> = {}): Promise<string> {
    const key = this.#keys.at(-1) as Key;
    return this.#sign(key.privateKey, claims, { kid: key.kid, ...header });
  }

  /** A token whose signature is not made with the key that its header names. */
  async forged(claims: Claims = {}, header: Record<string, unknown> = {}): Promise<string> {
    const { privateKey, publicKey } = await generateKeyPair("ES256", { extractable: true });
    const jwk = await exportJWK(publicKey);
    return this.#sign(privateKey, claims, header.jwk === true ? { ...header, jwk } : header);
  }

  /** The public key as text, which a careless server takes for a shared secret. */
  publicPem(): Promise<string> {
    return exportSPKI((this.#keys.at(-1) as Key).publicKey);
  }

  keyId(): string {
    return (this.#keys.at(-1) as Key).kid;
  }

  async #sign(key: CryptoKey, claims: Claims, header: Record<string, unknown>): Promise<string> {
    const now = Math.floor(Date.now() / 1000);
    const all = { iss: this.url, aud: "agents", sub: "alice", exp: now + 600, scope: "read", ...claims };
    const payload = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
    const token = await new SignJWT(payload).setProtectedHeader({ alg: "ES256", typ: "at+jwt", ...header }).sign(key);
    this.made.push(token);
    return token;
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.setHeader("content-type", "application/json");
    switch (request.url) {
      case "/jwks":
        return this.#keySet(response);
      case "/.well-known/oauth-authorization-server":
      case "/.well-known/openid-configuration":
        return void response.end(JSON.stringify({ issuer: this.url, jwks_uri: this.jwks, ...this.metadata }));
      case "/introspect":
        return this.#introspect(request, response);
      default:
        return void response.writeHead(404).end();
    }
  }

  async #introspect(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.introspected++;
    this.mostOpen = Math.max(this.mostOpen, ++this.open);
    const body = new URLSearchParams(await text(request));
    await this.whenOpened;
    this.open--;
    const basic = `Basic ${Buffer.from("parley:client%20secret").toString("base64")}`;
    if (request.method !== "POST" || request.headers.authorization !== basic || this.mood !== "well") {
      return void response.writeHead(this.mood === "well" ? 401 : 500).end();
    }
    const said = this.opaque.get(body.get("token") ?? "") ?? { active: false };
    if (typeof said === "number") response.writeHead(said).end();
    else response.end(typeof said === "string" ? said : JSON.stringify(said));
  }

  async #keySet(response: ServerResponse): Promise<void> {
    this.asked++;
    const keys = await Promise.all(
      this.#keys.map(async ({ kid, publicKey }) => ({
        ...(await exportJWK(publicKey)),
        kid,
        alg: "ES256",
        use: "sig",
      })),
    );
    switch (this.mood) {
      case "fails":
        return void response.writeHead(500).end("out of order");
      case "stalls":
        return;
      case "floods":
        return void response.end(JSON.stringify({ keys, more: "x".repeat(3_000_000) }));
      case "lies":
        return void response.end('{"keys":"none today"}');
      case "redirects":
        return void response.writeHead(302, { location: `${this.url}/elsewhere` }).end();
      default:
        return void response.end(JSON.stringify({ keys }));
    }
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

async function newKey(kid: string): Promise<Key> {
  return { kid, ...(await generateKeyPair("ES256", { extractable: true })) };
}
