/**
 * Maximum number of characters that wait for a process that does not read. Later signals are dropped; polling finds the
 * changes.
 */
const MOST_WAITING = 16_000_000;

/** Sends a message, and calls back once it is sent. */
type Send = (message: { readonly type: "signals"; readonly texts: readonly string[] }, sent: () => void) => void;

/** Sends signals to another process. The buffer for a stopped process is bounded. */
export class SignalSender {
  readonly #send: Send;
  #waiting = 0;

  constructor(send: Send) {
    this.#send = send;
  }

  send(texts: readonly string[]): void {
    const size = texts.reduce((sum, { length }) => sum + length, 0);
    if (this.#waiting + size > MOST_WAITING) return;
    this.#waiting += size;
    this.#send({ type: "signals", texts }, () => {
      this.#waiting -= size;
    });
  }
}
