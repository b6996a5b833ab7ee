import type { Carrier } from "../../src/signals/carrier.js";
import { SignalHub } from "../../src/signals/hub.js";
import type { SignalMember } from "../../src/signals/signals.js";

/** A line between processes that can be cut. */
export class Bus {
  isCut = false;
  /** Every text that was carried. */
  readonly texts: string[] = [];
  readonly #listeners = new Set<(text: string) => void>();
  #count = 0;

  /** A process of its own. */
  join(name = `process-${++this.#count}`): SignalMember {
    return this.hub().join(name);
  }

  hub(): SignalHub {
    return new SignalHub(this.#carrier());
  }

  /** Says a text to all, as any program may. */
  say(text: string): void {
    this.texts.push(text);
    for (const listener of this.#listeners) listener(text);
  }

  #carrier(): Carrier {
    let own: (text: string) => void = () => {};
    return {
      maxBytes: 7_000,
      open: (hear) => {
        own = hear;
        this.#listeners.add(own);
      },
      broadcast: (texts) => {
        if (!this.isCut) for (const text of texts) queueMicrotask(() => this.say(text));
      },
      send: async (_, text) => {
        if (!this.isCut) this.say(text);
        return true;
      },
      close: async () => void this.#listeners.delete(own),
    };
  }
}
