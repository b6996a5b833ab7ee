/** Most characters of signals that wait for a process that does not read. Later ones are dropped: polling finds changes. */
const MOST_WAITING = 16_000_000;

/** Sends a message, and calls back once it is sent. */
type Send = (message: { readonly type: "signals"; readonly texts: readonly string[] }, sent: () => void) => void;

/** Sends signals to another process. What waits for one that is stopped does not grow without end. */
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
