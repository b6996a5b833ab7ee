import { A2AError } from "../core/error.js";
import type { SendCommand, SendResult } from "./send.js";

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

  /**
   * Does `send`, unless one under the same key is being done. A direct answer is shared by all of them; after any other
   * outcome they ask the store what the key stands for.
   * @throws A2AError IDEMPOTENCY_KEY_REUSED
   */
  async once(key: string, command: SendCommand, send: () => Promise<SendResult>): Promise<SendResult> {
    for (let known = this.#underway.get(key); known !== undefined; known = this.#underway.get(key)) {
      if (known.command.idempotency?.fingerprint !== command.idempotency?.fingerprint) throw keyReused();
      const sent = await known.outcome.catch(() => undefined);
      // An agent that was stopped because its client went may have answered anything.
      if (sent?.kind === "message" && !known.command.client.signal.aborted) return sent;
    }
    const outcome = send();
    this.#underway.set(key, { command, outcome });
    try {
      return await outcome;
    } finally {
      this.#underway.delete(key);
    }
  }
}

export function keyReused(): A2AError {
  return new A2AError("IDEMPOTENCY_KEY_REUSED", "The idempotency key was used for another request.");
}
