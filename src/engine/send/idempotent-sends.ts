import { within } from "../../core/async.js";
import { A2AError } from "../../core/error.js";
import type { SendCommand, SendResult } from "./send-command.js";

interface Underway {
  readonly command: SendCommand;
  readonly outcome: Promise<SendResult>;
}

/**
 * Sends under an idempotency key that are being accepted, or decided by their agent: of several at once in this process
 * the first one goes ahead, and the later ones wait for its outcome. Between processes the store decides.
 */
export class IdempotentSends {
  /** Not a TransientMap: clients choose these keys. */
  readonly #underway = new Map<string, Underway>();
  readonly #graceMs: number;

  /** @param graceMs what an agent gets to stop when the client of the first send has gone away, in milliseconds */
  constructor(graceMs: number) {
    this.#graceMs = graceMs;
  }

  /**
   * Does `send`, unless one under the same key is being done. A direct answer is shared by all of them; after any other
   * outcome they ask the store what the key stands for. An agent that hangs although its client has gone away does not keep
   * the key: the next send goes ahead, and should the first one make a task after all, the store says whose the key is.
   * @throws A2AError IDEMPOTENCY_KEY_REUSED
   */
  async once(key: string, command: SendCommand, send: () => Promise<SendResult>): Promise<SendResult> {
    for (let known = this.#underway.get(key); known !== undefined; known = this.#underway.get(key)) {
      if (known.command.idempotency?.fingerprint !== command.idempotency?.fingerprint) throw keyReused();
      const sent = await Promise.race([known.outcome.catch(() => undefined), this.#leftBehind(known)]);
      if (sent === "left behind" && this.#underway.get(key) === known) break;
      if (sent === "left behind") continue;
      // An agent that was stopped because its client went may have answered anything.
      if (sent?.kind === "message" && !known.command.client.signal.aborted) return sent;
    }
    const outcome = send();
    const mine = { command, outcome };
    this.#underway.set(key, mine);
    try {
      return await outcome;
    } finally {
      if (this.#underway.get(key) === mine) this.#underway.delete(key);
    }
  }

  /** Resolves when the client has been gone for so long that its agent should have stopped. */
  async #leftBehind({ command: { client }, outcome }: Underway): Promise<"left behind"> {
    const over = outcome.catch(() => {});
    const { signal } = client;
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
    await within(this.#graceMs, over);
    return "left behind";
  }
}

/** @param taskId the task that the key stands for, where that is known: it is the caller's own */
export function keyReused(taskId?: string): A2AError {
  const message = "The idempotency key was used for another request.";
  return new A2AError("IDEMPOTENCY_KEY_REUSED", message, taskId === undefined ? {} : { metadata: { taskId } });
}
