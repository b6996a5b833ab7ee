import { randomBytes } from "node:crypto";
import { A2AError, toA2AError } from "../../core/error.js";
import type { InboundBudget } from "../../http/inbound-budget.js";
import type { HttpRequest } from "../../http/request.js";
import type { HttpResponse } from "../../http/response.js";
import { credentialHeader, ownHeaders } from "../../push-receiver/arrival.js";
import { readBody } from "../../push-receiver/event.js";
import { type PushEvent, PushRefusal, type StreamResponse } from "../../push-receiver/index.js";
import { defaultReceiverLimits } from "../../push-receiver/options.js";
import { PUSH_SIGNATURE, WEBHOOK_SIGNATURE } from "../../wire/webhook.js";
import { done, json } from "../responses.js";
import { Kept, type KeptNotification } from "./kept.js";
import { receiverLimits } from "./limits.js";
import { Proofs } from "./proofs.js";

const MINUTE_MS = 60_000;

type Verdict = Omit<KeptNotification, "number" | "at" | "size" | "headers" | "body">;

/** The webhook of one session: it verifies notifications of agents and keeps the latest of them. */
export class ConsoleReceiver {
  /** Random part of its address. */
  readonly id: string;
  readonly session: string;
  readonly address: string;
  readonly proofs: Proofs;
  readonly kept: Kept = new Kept();
  #minute = { began: Number.NEGATIVE_INFINITY, count: 0 };
  #limited = 0;

  /**
   * @param addressOf returns the address for an id
   * @param keyFetch fetches the keys of servers
   */
  constructor(session: string, addressOf: (id: string) => string, keyFetch: typeof fetch | undefined) {
    this.id = randomBytes(32).toString("base64url");
    this.session = session;
    this.address = addressOf(this.id);
    this.proofs = new Proofs(this.address, keyFetch);
  }

  /** Number of requests that were refused because too many came. They are not kept. */
  get limited(): number {
    return this.#limited;
  }

  /** Takes a notification and answers its sender. @throws A2AError TOO_MANY_REQUESTS, REQUEST_TOO_LARGE, CANCELLED */
  async receive(request: HttpRequest, inboundBudget: InboundBudget): Promise<HttpResponse> {
    this.#count();
    const given = ownHeaders(Object.fromEntries(request.headers));
    const body = await this.#bodyOf(request, inboundBudget, given);
    const verdict = await this.#verdictOn(request.headers, body);
    this.#keep(verdict, given, body);
    return verdict.refusal === undefined ? done() : json(verdict.status, { error: verdict.refusal.reason });
  }

  /** @throws A2AError TOO_MANY_REQUESTS */
  #count(): void {
    const now = performance.now();
    if (now - this.#minute.began >= MINUTE_MS) this.#minute = { began: now, count: 0 };
    if (++this.#minute.count <= receiverLimits.perMinute) return;
    this.#limited++;
    const retryAfterMs = Math.max(1, this.#minute.began + MINUTE_MS - now);
    throw new A2AError("TOO_MANY_REQUESTS", "The receiver accepts no more notifications in this minute.", {
      retryAfterMs,
    });
  }

  async #bodyOf(request: HttpRequest, inboundBudget: InboundBudget, given: Record<string, string>): Promise<Buffer> {
    try {
      return await request.readBody({ max: receiverLimits.bodyBytes, framing: 0 }, inboundBudget);
    } catch (thrown) {
      const error = toA2AError(thrown);
      if (error.reason === "REQUEST_TOO_LARGE") {
        const reason = `The notification has more than ${receiverLimits.bodyBytes} bytes.`;
        this.#keep(refusal(413, { code: "too-large", reason }), given, Buffer.alloc(0));
      }
      throw error;
    }
  }

  async #verdictOn(headers: Headers, body: Buffer): Promise<Verdict> {
    const { receiver, skipsJwt, skipsWebhook } = this.proofs.for(headers);
    const unchecked = [...(skipsJwt ? [PUSH_SIGNATURE] : []), ...(skipsWebhook ? [WEBHOOK_SIGNATURE] : [])];
    try {
      const event = await receiver.receive({ headers, body });
      await receiver.handled(event);
      return { status: 204, unchecked, ...factsOf(event) };
    } catch (error) {
      if (!(error instanceof PushRefusal)) throw error;
      const { code, status, message: reason, cause } = error;
      const detail = cause instanceof Error ? cause.message : undefined;
      return { ...refusal(status, { code, reason, detail }), unchecked, ...(await claimsIn(body)) };
    }
  }

  #keep(verdict: Verdict, given: Readonly<Record<string, string>>, body: Buffer): void {
    const headers = Object.fromEntries(
      Object.entries(given).map(([name, value]) => [name, credentialHeader.test(name) ? "[redacted]" : value]),
    );
    this.kept.add({ ...verdict, at: new Date().toISOString(), size: body.length, headers, body });
  }
}

function refusal(status: number, why: NonNullable<Verdict["refusal"]>): Verdict {
  return { status, refusal: why, signatures: [], unchecked: [], isTest: false, isRepeat: false };
}

function factsOf(event: PushEvent): Omit<Verdict, "status" | "unchecked"> {
  const { response, taskId, contextId, eventId, configId, generation, isTest, isRepeat, sentAt, signatures } = event;
  const facts = { signatures, isTest, isRepeat, taskId, contextId, eventId, configId, generation };
  return { ...facts, ...shownOf(response), sentAt: sentAt?.toISOString() };
}

/** Reads the body of a refused notification. */
async function claimsIn(body: Buffer): Promise<Partial<Verdict>> {
  try {
    const { response, taskId, contextId } = await readBody(body, defaultReceiverLimits.maxBodyValues);
    return { ...shownOf(response), taskId, contextId };
  } catch {
    return {};
  }
}

function shownOf({ payload }: StreamResponse): Pick<Verdict, "kind" | "state"> {
  const hasStatus = payload.case === "task" || payload.case === "statusUpdate";
  return { kind: payload.case, state: hasStatus ? payload.value.status?.state : undefined };
}
