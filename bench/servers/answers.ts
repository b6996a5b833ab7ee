/** What every server of the bench answers, so that all of them carry the same bytes. */
export const REPLY_TEXT = "It rains, and will go on raining until the evening.";
export const WORKING_TEXT = "Looking out of the window.";
export const RESULT_TEXT = "It rains. It will go on raining until the evening, and the wind turns west.";
export const DONE_TEXT = "That was all.";

/** A chunk of a stream. */
export function chunkText(index: number, length = 0): string {
  return `Chunk ${index} of what the agent has to say. `.padEnd(length, ".");
}

/** What a message asks for: `task`, `wait`, or `chunks <count> <length of each>`, `wait` before it too. */
export interface Order {
  readonly wait: boolean;
  /** Undefined: a task of four events. */
  readonly chunks: number | undefined;
  readonly length: number;
}

/** Reads an order from a message's text. */
export function orderOf(text: string): Order {
  const words = text.split(" ");
  const at = words.indexOf("chunks");
  return {
    wait: words.includes("wait"),
    chunks: at < 0 ? undefined : Number(words[at + 1]),
    length: at < 0 ? 0 : Number(words[at + 2]),
  };
}
