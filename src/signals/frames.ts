import { utf8LengthOf } from "../core/bytes.js";
import { isText } from "../core/members.js";

/** Prefix of texts in this format. Another format gets another prefix, and a process ignores unknown prefixes. */
const MARK = "p1";

/** Maximum length of a name of a member, topic or question. Processes remember names, and any program may send them. */
const MOST_NAME = 200;

/** Message of one process to others. */
export type Frame =
  | { readonly kind: "changed"; readonly from: string; readonly taskIds: readonly string[] }
  | {
      readonly kind: "value";
      readonly from: string;
      /** Counts the values of a sender. */
      readonly count: number;
      readonly topic: string;
      readonly value: unknown;
    }
  | Question
  | {
      readonly kind: "answer";
      readonly from: string;
      readonly to: string;
      readonly id: string;
      readonly value: unknown;
    };

export interface Question {
  readonly kind: "question";
  readonly from: string;
  readonly to: string;
  readonly id: string;
  readonly topic: string;
  readonly value: unknown;
}

export function frameText(frame: Exclude<Frame, { kind: "changed" }>): string {
  const { kind, from } = frame;
  if (kind === "value") return JSON.stringify([MARK, "v", from, frame.count, frame.topic, frame.value]);
  const { to, id } = frame;
  if (kind === "answer") return JSON.stringify([MARK, "a", from, to, id, frame.value]);
  return JSON.stringify([MARK, "q", from, to, id, frame.topic, frame.value]);
}

/** Returns texts that name all ids, each of at most `maxBytes`. An id that is longer is left out. */
export function changedTexts(from: string, taskIds: Iterable<string>, maxBytes: number): string[] {
  const start = JSON.stringify([MARK, "c", from]).slice(0, -1);
  const room = maxBytes - utf8LengthOf(start) - 1;
  const texts: string[] = [];
  let text = start;
  let bytes = 0;
  for (const taskId of taskIds) {
    const next = `,${JSON.stringify(taskId)}`;
    const size = utf8LengthOf(next);
    if (size > room) continue;
    if (bytes + size > room) {
      texts.push(`${text}]`);
      text = start;
      bytes = 0;
    }
    text += next;
    bytes += size;
  }
  return text === start ? texts : [...texts, `${text}]`];
}

/** Reads a text of another process; undefined for one that no process of this format has sent. */
export function frameOf(text: string): Frame | undefined {
  if (!text.startsWith(`["${MARK}",`)) return undefined;
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!Array.isArray(parsed)) return undefined;
  const [, kind, from, ...rest] = parsed as unknown[];
  if (!isShortText(from)) return undefined;
  if (kind === "c") return { kind: "changed", from, taskIds: rest.filter(isText) };
  if (kind === "v") {
    const [count, topic, value] = rest;
    const isRight = typeof count === "number" && isShortText(topic);
    return isRight ? { kind: "value", from, count, topic, value } : undefined;
  }
  const [to, id, ...more] = rest;
  if (!isShortText(to) || !isShortText(id)) return undefined;
  if (kind === "a") return { kind: "answer", from, to, id, value: more[0] };
  const [topic, value] = more;
  return kind === "q" && isShortText(topic) ? { kind: "question", from, to, id, topic, value } : undefined;
}

function isShortText(value: unknown): value is string {
  return isText(value) && value.length <= MOST_NAME;
}
