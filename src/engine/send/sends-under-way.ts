import { orAborted, within } from "../../core/async.js";
import { keyReused } from "./acceptance.js";
import type { SendCommand, SendResult } from "./send-command.js";

interface Underway {
  readonly command: SendCommand;
  readonly outcome: Promise<SendResult>;
}

/**
 * Sends with an idempotency key that are being accepted, or decided by their agent. Of concurrent sends in this process
 * the first one proceeds and the others wait for its result. Between processes the store decides.
 */
export class SendsUnderWay {
  /** Not a TransientMap: clients choose these keys. */
  readonly #underway = new Map<string, Underway>();
  readonly #graceMs: number;

  /** @param graceMs time for an agent to stop after the first send's client has disconnected, in milliseconds */
  constructor(graceMs: number) {
    this.#graceMs = graceMs;
  }

  /**
   * Calls `send`, unless a send with the same key is in progress. A direct reply is shared by all of them; after any
   * other result they look the key up in the store. An agent that hangs after its client disconnected does not block
   * the key: the next send proceeds, and if the first one creates a task after all, the store decides which one has the
   * key.
   * @throws A2AError IDEMPOTENCY_KEY_REUSED
   */
  async once(key: string, command: SendCommand, send: () => Promise<SendResult>): Promise<SendResult> {
    for (let known = this.#underway.get(key); known !== undefined; known = this.#underway.get(key)) {
      if (known.command.idempotency?.fingerprint !== command.idempotency?.fingerprint) throw keyReused();
      const sent = await this.#outcomeOf(known);
      if (sent === "left behind" && this.#underway.get(key) === known) break;
      if (sent === "left behind") continue;
      // An agent that was stopped because its client disconnected may have answered anything.
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

  /**
   * Waits for the result, undefined for a failed send, or until the client has been disconnected for so long that its
   * agent should have stopped.
   */
  async #outcomeOf({ command: { client }, outcome }: Underway): Promise<SendResult | "left behind" | undefined> {
    const over = outcome.catch(() => undefined);
    const isThere = await orAborted(over, client.signal).then(
      () => true,
      () => false,
    );
    return isThere || (await within(this.#graceMs, over)) ? over : "left behind";
  }
}
