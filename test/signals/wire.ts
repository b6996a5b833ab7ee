import type { Carrier } from "../../src/signals/carrier.js";

/** Changes a text on its way to one process: the texts that arrive there, each after some milliseconds. */
export type Weather = (text: string) => readonly { readonly text: string; readonly ms: number }[];

/** Carries texts between the hubs of one process as a network does, in some weather. */
export class Wire {
  readonly #ears = new Set<(text: string) => void>();
  readonly #weather: Weather;

  constructor(weather: Weather = (text) => [{ text, ms: 0 }]) {
    this.#weather = weather;
  }

  carrier(): Carrier {
    let ear: (text: string) => void = () => {};
    return {
      maxBytes: 7_000,
      open: (hear) => {
        ear = hear;
        this.#ears.add(ear);
      },
      broadcast: (texts) => {
        for (const text of texts) this.carry(text);
      },
      send: async (_to, text) => {
        this.carry(text);
        return true;
      },
      close: async () => void this.#ears.delete(ear),
    };
  }

  carry(given: string): void {
    for (const hear of this.#ears) {
      for (const { text, ms } of this.#weather(given)) setTimeout(() => this.#ears.has(hear) && hear(text), ms);
    }
  }
}
