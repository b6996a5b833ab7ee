import type { InboundBudget } from "../../http/inbound-budget.js";
import type { HttpRequest } from "../../http/request.js";
import type { HttpResponse } from "../../http/response.js";
import type { ConsoleAccess } from "../access.js";
import { done, json, MAX_REQUEST_BYTES, notFound, textIn, wrongMethod } from "../responses.js";
import { receiverLimits } from "./limits.js";
import { ConsoleReceiver } from "./receiver.js";

interface ReceiverParts {
  readonly access: ConsoleAccess;
  readonly inboundBudget: InboundBudget;
  /** Returns the URL of the console as the browser of a request sees it. */
  readonly consoleOf: (request: HttpRequest) => string;
  /** Fetches the keys of servers. */
  readonly keyFetch: typeof fetch | undefined;
}

/** The webhooks of a console, at most one for each session, and what their pages ask. */
export class ReceiverRoutes {
  readonly #parts: ReceiverParts;
  /** By session; the one whose page asked least recently is first. */
  readonly #receivers = new Map<string, ConsoleReceiver>();

  constructor(parts: ReceiverParts) {
    this.#parts = parts;
    parts.access.onEnd((session) => void this.#receivers.delete(session));
  }

  /** Answers an agent. Ids that do not exist and those that have ended get the same answer as any other path. */
  async hook(request: HttpRequest, id: string): Promise<HttpResponse> {
    if (request.method !== "POST") return wrongMethod("POST");
    const receiver = [...this.#receivers.values()].find((each) => each.id === id);
    if (receiver === undefined) return notFound();
    const { access, inboundBudget } = this.#parts;
    if (!(await access.isOpen(receiver.session, request))) return notFound();
    const answer = await receiver.receive(request, inboundBudget);
    // It may have ended while the notification arrived.
    return this.#receivers.get(receiver.session) === receiver ? answer : notFound();
  }

  /** Answers the page of a session. @throws A2AError */
  async answer(request: HttpRequest, session: string, path: string): Promise<HttpResponse> {
    const { method } = request;
    if (path === "") {
      if (method === "POST") return this.#open(request, session);
      if (method !== "DELETE") return wrongMethod("POST, DELETE");
      this.#receivers.delete(session);
      return done();
    }
    const receiver = this.#receivers.get(session);
    if (receiver === undefined) return notFound();
    const [, list, number] = /^\/(notifications|proofs)(?:\/(\d{1,15}))?$/.exec(path) ?? [];
    if (list === "notifications") return notifications(receiver, method, number);
    if (list === "proofs") return this.#proofs(receiver, request, number);
    return notFound();
  }

  /** Returns the receiver of a session, which it opens at first, with the notifications after a number. */
  #open(request: HttpRequest, session: string): HttpResponse {
    const { consoleOf, keyFetch } = this.#parts;
    const receiver =
      this.#receivers.get(session) ??
      new ConsoleReceiver(session, (id) => `${consoleOf(request)}/hooks/${id}`, keyFetch);
    this.#receivers.delete(session);
    this.#receivers.set(session, receiver);
    for (const oldest of this.#receivers.keys()) {
      if (this.#receivers.size <= receiverLimits.receivers) break;
      this.#receivers.delete(oldest);
    }
    const after = Number(new URLSearchParams(request.target.query).get("after") ?? 0);
    const { address, proofs, kept, limited } = receiver;
    return json(200, {
      address,
      token: proofs.token,
      proofs: proofs.all,
      notifications: kept.after(after),
      ...kept.range,
      limited,
      limits: receiverLimits,
    });
  }

  async #proofs(receiver: ConsoleReceiver, request: HttpRequest, number: string | undefined): Promise<HttpResponse> {
    const { proofs } = receiver;
    if (number === undefined) {
      if (request.method !== "POST") return wrongMethod("POST");
      const size = { max: MAX_REQUEST_BYTES, framing: 0 };
      proofs.add(textIn(await request.readBody(size, this.#parts.inboundBudget), "proof"));
      return done();
    }
    if (request.method !== "DELETE") return wrongMethod("DELETE");
    proofs.remove(Number(number));
    return done();
  }
}

function notifications({ kept }: ConsoleReceiver, method: string, number: string | undefined): HttpResponse {
  if (number === undefined) {
    if (method !== "DELETE") return wrongMethod("DELETE");
    kept.clear();
    return done();
  }
  if (method !== "GET") return wrongMethod("GET");
  const found = kept.get(Number(number));
  return found === undefined ? notFound() : json(200, { ...found, body: found.body.toString("utf8") });
}
