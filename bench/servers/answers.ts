/** Answers of every server of the bench, so that all of them carry the same bytes. */
export const REPLY_TEXT = "It rains, and will go on raining until the evening.";
export const WORKING_TEXT = "Looking out of the window.";
export const PRELUDE_TEXT = "The prelude is over.";
export const RESULT_TEXT = "It rains. It will go on raining until the evening, and the wind turns west.";
export const DONE_TEXT = "That was all.";

/** A message that begins so is answered with its own text. */
const ECHO = "echo ";

/** The text of a direct reply. */
export function replyTo(text: string): string {
  return text.startsWith(ECHO) ? text : REPLY_TEXT;
}

/** A text of so many bytes that is echoed, and that ends with what an answer is recognised by. */
export function echoText(bytes: number, end: string): string {
  return `${ECHO}${"x".repeat(Math.max(0, bytes - ECHO.length - end.length))}${end}`;
}

/** A chunk of a stream. */
export function chunkText(index: number, length = 0): string {
  return `Chunk ${index} of what the agent has to say. `.padEnd(length, ".");
}

/** So many chunks of such a length, in characters. */
export interface Chunks {
  readonly count: number;
  readonly length: number;
}

/**
 * Order of a message: `task`; `wait` for the bench's sign, before the rest; `prelude <count> <length>`, chunks
 * each of which replaces the one before, so that the task stays small, and another wait after them; `chunks <count>
 * <length>`, each appended.
 */
export interface Order {
  readonly wait: boolean;
  readonly prelude: Chunks | undefined;
  /** Undefined: a task of four events. */
  readonly chunks: Chunks | undefined;
}

/** Reads an order from a message's text. */
export function orderOf(text: string): Order {
  const words = text.split(" ");
  const chunksAfter = (word: string): Chunks | undefined => {
    const at = words.indexOf(word);
    return at < 0 ? undefined : { count: Number(words[at + 1]), length: Number(words[at + 2]) };
  };
  return { wait: words.includes("wait"), prelude: chunksAfter("prelude"), chunks: chunksAfter("chunks") };
}

/** The body of a notification of a piece of an artifact, as Parley sends it. */
export function notification(text: string): string {
  const ids = { taskId: "01a20208-3bb2-777c-8a2d-767c6ff5fb48", contextId: "01a20208-3bb2-777c-8a2d-767c6ff5fb49" };
  const artifact = { artifactId: "result", name: "result", parts: [{ text }] };
  return JSON.stringify({ artifactUpdate: { ...ids, artifact, append: true } });
}
