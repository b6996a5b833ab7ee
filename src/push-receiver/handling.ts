import type { Logger } from "../core/log.js";
import type { PushEvent } from "./event.js";
import type { PushMark, PushMemory } from "./memory.js";
import { PushRefusal } from "./refusal.js";
import type { PushRequest } from "./request.js";

/**
 * Handles one notification. When it returns or its promise is fulfilled, the notification is complete; when it throws,
 * the sender retries. A thrown PushRefusal is answered unchanged: `gone` makes the sender stop.
 */
export type PushHandler = (event: PushEvent) => unknown;

/** Response to a sender. */
export interface PushAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

/** A verified notification, and the mark to store for it. */
export interface VerifiedPush {
  readonly event: Omit<PushEvent, "order" | "isRepeat">;
  readonly mark: PushMark | undefined;
}

interface HandlingParts {
  readonly verify: (request: PushRequest) => Promise<VerifiedPush>;
  readonly memory: PushMemory;
  readonly logger: Logger;
}

/** `Retry-After` for a sender whose last attempt is still being handled, in seconds. */
const BUSY_SECONDS = 1;

/** Passes each notification to its handler once, as far as the memory remembers it. */
export class Handling {
  readonly #parts: HandlingParts;
  readonly #marks = new WeakMap<PushEvent, PushMark>();
  /** Notifications in progress: a sender that timed out may retry meanwhile. */
  readonly #busy = new Set<string>();

  constructor(parts: HandlingParts) {
    this.#parts = parts;
  }

  async receive(request: PushRequest): Promise<PushEvent> {
    return this.#ordered(await this.#parts.verify(request));
  }

  async handled(event: PushEvent): Promise<void> {
    const mark = this.#marks.get(event);
    if (mark !== undefined) await this.#parts.memory.remember(mark);
  }

  async #ordered({ event, mark }: VerifiedPush): Promise<PushEvent> {
    const order = mark === undefined ? "new" : await this.#parts.memory.order(mark);
    const ordered: PushEvent = { ...event, order, isRepeat: order !== "new" };
    if (mark !== undefined) this.#marks.set(ordered, mark);
    return ordered;
  }

  /** Never rejects. */
  async answer(read: () => Promise<PushRequest>, handle: PushHandler): Promise<PushAnswer> {
    try {
      const verified = await this.#parts.verify(await read());
      if (verified.event.isTest) this.#noteTest(verified);
      else await this.#once(verified, handle);
      return { status: 204, headers: {}, text: "" };
    } catch (error) {
      return this.#refusal(error);
    }
  }

  /** A test event is verified like any other, and reaches no handler: nothing happened. */
  #noteTest({ event: { taskId, eventId } }: VerifiedPush): void {
    this.#parts.logger.info({ taskId, eventId }, "a test event arrived");
  }

  async #once(verified: VerifiedPush, handle: PushHandler): Promise<void> {
    const { mark } = verified;
    const key = mark?.line ?? mark?.id;
    if (key === undefined) {
      await handle(await this.#ordered(verified));
      return;
    }
    if (this.#busy.has(key))
      throw new PushRefusal("busy", "The last notification of this task is still being handled.");
    this.#busy.add(key);
    try {
      const event = await this.#ordered(verified);
      if (event.isRepeat) return;
      await handle(event);
      await this.handled(event);
    } finally {
      this.#busy.delete(key);
    }
  }

  #refusal(error: unknown): PushAnswer {
    const { logger } = this.#parts;
    if (!(error instanceof PushRefusal)) {
      logger.error({ err: error }, "a notification could not be handled");
      return textAnswer(500, "The notification could not be handled.");
    }
    logger.info({ code: error.code, err: error }, "a notification was refused");
    return textAnswer(error.status, error.message, refusalHeaders(error));
  }
}

function textAnswer(status: number, text: string, headers: Readonly<Record<string, string>> = {}): PushAnswer {
  return { status, text: `${text}\n`, headers: { "content-type": "text/plain; charset=utf-8", ...headers } };
}

/** Returns the headers of a refusal: 401 names a scheme, 405 the methods (RFC 9110, 15.5.2 and 15.5.6). */
function refusalHeaders({ code }: PushRefusal): Record<string, string> {
  if (code === "authorization") return { "www-authenticate": 'Bearer realm="webhook"' };
  if (code === "method") return { allow: "POST" };
  return code === "busy" ? { "retry-after": String(BUSY_SECONDS) } : {};
}
