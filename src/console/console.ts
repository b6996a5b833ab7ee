import type { Operator } from "../admin/methods.js";
import { A2AError, toA2AError } from "../core/error.js";
import type { Limits } from "../core/limits.js";
import { type Logger, requestFacts } from "../core/log.js";
import { RELEASE } from "../core/release.js";
import { InboundBudget } from "../http/inbound-budget.js";
import type { HttpRequest } from "../http/request.js";
import { type HttpResponse, rejectionOf } from "../http/response.js";
import type { ConsoleAccess } from "./access.js";
import { ConsoleFiles, noStore, safeHeaders } from "./files.js";
import type { ConsoleAgent, ConsoleStart } from "./options.js";
import { CONSOLE_PATH } from "./path.js";
import { ReceiverRoutes } from "./receiver/routes.js";
import { type Relay, relayFailure } from "./relay.js";
import { done, json, MAX_REQUEST_BYTES, notFound, rejectionResponse, textIn, wrongMethod } from "./responses.js";
import { isOwnRequest, portOf, type SeenOrigin } from "./same-origin.js";
import { type CookiePlace, sessionCookie } from "./sessions.js";

export interface ConsoleParts {
  readonly access: ConsoleAccess;
  readonly relay: Relay;
  /** Answers a call of the operator's service, whose path is that below the console's; undefined without one. */
  readonly admin?: ((request: HttpRequest) => Promise<HttpResponse>) | undefined;
  /**
   * Returns the operator that another process takes this console for; undefined if that is unknown. The default is the
   * operator of the session.
   */
  readonly operator?: (() => Promise<Operator | undefined>) | undefined;
  readonly agents: (mount: string) => readonly ConsoleAgent[];
  readonly start?: ConsoleStart | undefined;
  /** The origin as the browser of a request sees it. */
  readonly seenOf: (request: HttpRequest) => SeenOrigin;
  readonly limits: Limits;
  /** Returns true for the address of a proxy, which many operators share. Default: no address is. */
  readonly isProxy?: ((address: string) => boolean) | undefined;
  readonly logger: Logger;
}

/** Answers requests for the console: its web app, and the interface of that. */
export class Console {
  readonly #parts: ConsoleParts;
  readonly #files = new ConsoleFiles();
  readonly #inboundBudget: InboundBudget;
  readonly #receivers: ReceiverRoutes;

  /** @throws the system's error if the web app has not been built */
  constructor(parts: ConsoleParts) {
    this.#parts = parts;
    this.#inboundBudget = new InboundBudget(parts);
    this.#receivers = new ReceiverRoutes({
      access: parts.access,
      inboundBudget: this.#inboundBudget,
      consoleOf: (request) => this.#originOf(request) + this.#pathOf(request),
      keyFetch: parts.relay.fetch,
    });
  }

  /** Ends the calls of other agents when the server ends. Those of operators end with the engine. */
  close(): void {
    this.#parts.relay.close();
  }

  /** Answers a request for a path that `consolePath` returned. It never rejects. */
  async handle(request: HttpRequest, path: string): Promise<HttpResponse> {
    // Scripts of other origins, which may call the agents, get no access to the console.
    const headers = withoutCors(request.target.headers);
    request.target = { ...request.target, headers };
    try {
      if (path.startsWith("/api/")) return await this.#api(request, path.slice("/api".length));
      // Agents have neither the origin of the page nor a session.
      if (path.startsWith("/hooks/")) return await this.#receivers.hook(request, path.slice("/hooks/".length));
      return this.#file(request, path);
    } catch (thrown) {
      const error = toA2AError(thrown);
      if (error.reason === "INTERNAL") {
        this.#parts.logger.error({ err: thrown, ...requestFacts(request) }, "the console could not answer");
      }
      return rejectionResponse(error);
    }
  }

  #file(request: HttpRequest, path: string): HttpResponse {
    if (request.method !== "GET" && request.method !== "HEAD") return wrongMethod("GET, HEAD");
    if (path === "") return { status: 308, headers: [...safeHeaders, noStore, ["location", "console/"]] };
    const name = /^\/assets\/(.*)$/s.exec(path)?.[1];
    if (name !== undefined) return this.#files.asset(name, request) ?? notFound();
    return this.#files.page(`${this.#pathOf(request)}/`);
  }

  async #api(request: HttpRequest, path: string): Promise<HttpResponse> {
    const { seenOf, access, relay, admin } = this.#parts;
    if (!isOwnRequest(request, seenOf(request))) {
      const error = new A2AError("PERMISSION_DENIED", "The request does not come from the page of this console.");
      return { ...rejectionResponse(error), rejections: [rejectionOf("console", error)] };
    }
    if (path === "/session") return this.#session(request);
    if (path === "/relay") return this.#relay(request, relay);
    if (/^\/receiver(?:\/|$)/.test(path)) return this.#receiver(request, path.slice("/receiver".length));
    if (admin !== undefined && path.startsWith("/admin/")) {
      return access.within(request, async () => {
        request.target = { ...request.target, path: path.slice("/admin".length) };
        const answer = await admin(request);
        return { ...answer, headers: [...(answer.headers ?? []), ...safeHeaders, noStore] };
      });
    }
    await access.operatorOf(request);
    return path === "/recording" ? this.#recording() : notFound();
  }

  /** Returns the recording that the command line opened, whose size no message of a session should have. */
  #recording(): HttpResponse {
    const { recording } = this.#parts.start ?? {};
    if (recording === undefined) return notFound();
    return { status: 200, type: "application/x-ndjson", headers: [...safeHeaders, noStore], body: recording.text };
  }

  async #session(request: HttpRequest): Promise<HttpResponse> {
    const { access } = this.#parts;
    switch (request.method) {
      case "GET":
      case "HEAD":
        return this.#describe(request);
      case "POST": {
        const id = await access.begin(request, await this.#tokenIn(request));
        return done(["set-cookie", this.#cookie(request, id)]);
      }
      case "DELETE":
        access.end(request);
        return done(["set-cookie", this.#cookie(request, "")]);
      default:
        return wrongMethod("GET, HEAD, POST, DELETE");
    }
  }

  async #describe(request: HttpRequest): Promise<HttpResponse> {
    const { access, agents, start, admin, operator } = this.#parts;
    try {
      const own = await access.operatorOf(request);
      const session = {
        operator: (await operator?.()) ?? own,
        admin: admin !== undefined,
        agents: agents(this.#mountOf(request)),
        start: start && { ...start, recording: start.recording?.name },
        version: RELEASE,
      };
      return json(200, session);
    } catch (error) {
      if (toA2AError(error).reason !== "UNAUTHENTICATED") throw error;
      // Not 401, which browsers print as an error of the page.
      return json(200, { login: access.ways });
    }
  }

  /** Returns the one-time token in the body of a login; undefined for one by other credentials. */
  async #tokenIn(request: HttpRequest): Promise<string | undefined> {
    const body = await request.readBody({ max: MAX_REQUEST_BYTES, framing: 0 }, this.#inboundBudget);
    return body.length === 0 ? undefined : textIn(body, "token");
  }

  #cookie(request: HttpRequest, id: string): string {
    const seen = this.#parts.seenOf(request);
    const place: CookiePlace = { isSecure: seen.isSecure, port: portOf(seen), path: this.#pathOf(request) };
    return sessionCookie(id, place);
  }

  /** Answers for the receiver of a session. Its keys are fetched from elsewhere, as calls of agents are sent there. */
  async #receiver(request: HttpRequest, path: string): Promise<HttpResponse> {
    const { access, relay } = this.#parts;
    const { id, operator } = await access.sessionOf(request);
    if (relay.isGuarded && operator.role !== "write") {
      throw new A2AError("PERMISSION_DENIED", "The receiver needs an operator with the role write.");
    }
    return this.#receivers.answer(request, id, path);
  }

  #originOf(request: HttpRequest): string {
    const { isSecure, host } = this.#parts.seenOf(request);
    return `${isSecure ? "https" : "http"}://${host}`;
  }

  /** Returns the path below which the browser sees this server. */
  #mountOf(request: HttpRequest): string {
    return `${this.#parts.seenOf(request).prefix}${request.target.mount ?? ""}`;
  }

  #pathOf(request: HttpRequest): string {
    return `${this.#mountOf(request)}${CONSOLE_PATH}`;
  }

  async #relay(request: HttpRequest, relay: Relay): Promise<HttpResponse> {
    if (request.method !== "POST") return wrongMethod("POST");
    try {
      return await this.#parts.access.within(request, ({ role }) =>
        relay.isGuarded && role !== "write"
          ? relayFailure(403, "ERR_ROLE", "Calls of other agents need an operator with the role write.")
          : relay.answer(request),
      );
    } catch (error) {
      const { row, message, reason } = toA2AError(error);
      if (reason === "INTERNAL") throw error;
      return relayFailure(row.http, "ERR_NO_SESSION", message);
    }
  }
}

function withoutCors(headers: readonly string[]): string[] {
  const kept: string[] = [];
  for (let i = 0; i < headers.length; i += 2) {
    const [name = "", value = ""] = headers.slice(i, i + 2);
    if (!name.startsWith("access-control-")) kept.push(name, value);
  }
  return kept;
}
