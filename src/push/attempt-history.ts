import type { TaskPushNotificationConfig } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { percentDecoded } from "../core/net.js";
import type { AttemptFacts, PushConfigKey } from "../store/task-store.js";

/** One attempt at a delivery, made by this process. */
export interface Attempt extends PushConfigKey, AttemptFacts {
  /** Reason, for people; empty if the receiver accepted it. */
  readonly failure: string;
  /** True if an operator asked for it. */
  readonly byOperator: boolean;
}

/** An attempt with the body of its answer as received. */
export interface RawAttempt extends Omit<Attempt, "answer"> {
  readonly body: AnswerBody | undefined;
  /** The configuration, whose secrets the answer may repeat. */
  readonly config: TaskPushNotificationConfig;
}

/** Number of attempts that a process remembers, of all configurations together. */
export const rememberedAttempts = 1_024;

/**
 * The last attempts of this process that are not stored: the accepted ones, and those that an operator asked for. Their
 * answers become text only when read, so a successful delivery costs one array element.
 */
export class AttemptRing {
  readonly #attempts: RawAttempt[] = [];
  #next = 0;

  add(attempt: RawAttempt): void {
    this.#attempts[this.#next] = attempt;
    this.#next = (this.#next + 1) % rememberedAttempts;
  }

  /** Attempts of one configuration, in no particular order. */
  of({ taskId, configId }: PushConfigKey): Attempt[] {
    return this.#attempts
      .filter((attempt) => attempt.taskId === taskId && attempt.configId === configId)
      .map(toAttempt);
  }
}

/** Makes the text of an attempt's answer. */
export function toAttempt({ body, config, ...attempt }: RawAttempt): Attempt {
  return { ...attempt, answer: answerText(body, () => secretsOf(config)) };
}

/** The beginning of an answer's body. */
export interface AnswerBody {
  readonly bytes: Uint8Array;
  /** False if the body is longer, or did not end. */
  readonly isWhole: boolean;
}

/** Maximum size of the text of an answer, in bytes. */
const MAX_ANSWER = 512;

/** Bytes of an answer that are read: more than `MAX_ANSWER`, because redaction may shorten the text. */
export const ANSWER_BYTES = 4_096;

/** Minimum length of a secret, and of a part of a URL that may be one. */
const MIN_SECRET = 4;
const MIN_PART = 8;

const decoder = new TextDecoder();
const encoder = new TextEncoder();
const room = new Uint8Array(MAX_ANSWER);

/** Replaces a secret of the configuration in an answer. */
const REDACTED = "[redacted]";

/**
 * Makes the text of an answer for operators: printable, without the secrets of its configuration, which a receiver may
 * repeat, and at most 512 bytes long.
 */
export function answerText(body: AnswerBody | undefined, secrets: () => readonly string[]): string {
  if (body === undefined || body.bytes.length === 0) return "";
  let text = decoder.decode(body.bytes);
  const hidden = secrets();
  if (!body.isWhole) text = withoutBegunSecret(text, hidden);
  for (const secret of hidden) text = text.replaceAll(secret, REDACTED);
  const printable = text.replace(/[\p{C}\p{Z}]+/gu, " ").trim();
  return printable.slice(0, encoder.encodeInto(printable, room).read);
}

/** Cuts off the beginning of a secret whose rest was not read. */
function withoutBegunSecret(text: string, secrets: readonly string[]): string {
  let end = text.length;
  for (const secret of secrets) {
    for (let length = Math.min(secret.length - 1, text.length); length >= MIN_SECRET; length--) {
      if (!text.endsWith(secret.slice(0, length))) continue;
      end = Math.min(end, text.length - length);
      break;
    }
  }
  return text.slice(0, end);
}

/**
 * The secrets of a configuration in every spelling that an answer may have, longest first: token, credentials, and path
 * and query of the URL with their parts.
 */
export function secretsOf({ url, token, authentication }: TaskPushNotificationConfig): readonly string[] {
  const { pathname, search } = new URL(url);
  const parts = [
    ...pathname.split("/"),
    ...search
      .slice(1)
      .split("&")
      .flatMap((pair) => [pair, valueIn(pair)]),
  ];
  const whole = [token, authentication?.credentials ?? "", pathname + search, pathname, search.slice(1)];
  const given = [
    ...whole.filter(({ length }) => length >= MIN_SECRET),
    ...parts.filter(({ length }) => length >= MIN_PART),
  ];
  const spellings = new Set(given.flatMap(spellingsOf));
  return [...spellings].sort((a, b) => b.length - a.length);
}

const valueIn = (pair: string): string => pair.slice(pair.indexOf("=") + 1);

/**
 * Returns the spellings of a secret: as it is, decoded, encoded for a URL, and in JSON, where slashes may be escaped.
 */
function spellingsOf(secret: string): string[] {
  const json = JSON.stringify(secret).slice(1, -1);
  return [secret, percentDecoded(secret), encodeURIComponent(secret.toWellFormed()), json, json.replaceAll("/", "\\/")];
}
