import type { HttpAnswer } from "../client/platform.js";
import { mapStream } from "../core/map-stream.js";

/** Observes the body of an answer: the whole as text, or its chunks. */
export interface BodyObserver {
  readonly text: (text: string) => void;
  readonly chunk: (chunk: Uint8Array) => void;
}

/** Returns an answer that passes its body to an observer while the caller reads it. */
export function observed(answer: HttpAnswer, { text: seeText, chunk: see }: BodyObserver): HttpAnswer {
  return {
    status: answer.status,
    contentType: answer.contentType,
    get headers() {
      return answer.headers;
    },
    get trailers() {
      return answer.trailers;
    },
    text: async (maxBytes) => {
      const text = await answer.text(maxBytes);
      seeText(text);
      return text;
    },
    chunks: () =>
      mapStream(answer.chunks(), {
        item: (chunk) => {
          see(chunk);
          return chunk;
        },
      }),
    read: (take) =>
      answer.read((chunk) => {
        see(chunk);
        take(chunk);
      }),
    cancel: () => answer.cancel(),
    ...(answer.field !== undefined && { field: (of, name) => answer.field?.(of, name) }),
  };
}
