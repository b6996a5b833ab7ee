import { background, boundedCall } from "../core/async.js";
import { utf8LengthOf } from "../core/bytes.js";
import { newId } from "../core/ids.js";
import { evictOldest } from "../core/maps.js";
import type { Carrier } from "./carrier.js";
import { changedTexts, type Frame, frameOf, frameText, type Question } from "./frames.js";
import type { Inquiry, SignalMember, Signals, Topic } from "./signals.js";

/** Interval between two sends, in milliseconds. Changes and values are collected in between. */
const COLLECT_MS = 5;

/** Delay of the first send after an idle time, in milliseconds. It collects other tasks of the same commit. */
const FIRST_MS = 1;

/** Maximum number of ids that wait. Polling finds the others. */
const MOST_IDS = 10_000;

/** Maximum size of a text between members of one process, in bytes. No carrier limits it. */
const LOCAL_BYTES = 1_000_000;

/** Maximum number of questions that a member remembers, to answer a repeated question once. */
const MOST_QUESTIONS = 1_000;

/** Maximum number of senders and topics whose last value a member remembers, to ignore older ones. */
const MOST_SENDERS = 1_000;

/**
 * The members of one process. It passes their signals to each other and, through a carrier, to members of other
 * processes. For every carrier alike, it batches signals, splits them to the size of the carrier, and ignores repeated,
 * outdated and unknown ones. Without a carrier it connects the engines of one process only.
 */
export class SignalHub implements Signals {
  readonly #members = new Map<string, HubMember>();
  readonly #carrier: Carrier | undefined;
  readonly #maxBytes: number;
  #isOpen = false;
  #closed: Promise<void> | undefined;

  constructor(carrier?: Carrier) {
    this.#carrier = carrier;
    this.#maxBytes = carrier?.maxBytes ?? LOCAL_BYTES;
  }

  join(name: string): SignalMember {
    const member = new HubMember(name, {
      maxBytes: this.#maxBytes,
      isAlone: () => this.#carrier === undefined && this.#members.size < 2,
      broadcast: (texts) => this.#broadcast(name, texts),
      send: (to, text) => this.#send(to, text),
      left: () => this.#left(member),
    });
    if (this.#closed !== undefined) return member;
    this.#members.set(name, member);
    // A carrier connects with the first member.
    if (!this.#isOpen) this.#carrier?.open((text) => this.#hear(text));
    this.#isOpen = true;
    this.#carrier?.joined?.(name);
    return member;
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    for (const member of this.#members.values()) member.leave();
    if (this.#isOpen) await this.#carrier?.close();
  }

  #left(member: HubMember): void {
    if (this.#members.get(member.name) !== member) return;
    this.#members.delete(member.name);
    this.#carrier?.left?.(member.name);
  }

  #broadcast(from: string, texts: readonly string[]): void {
    const others = [...this.#members.values()].filter(({ name }) => name !== from);
    if (others.length > 0) for (const text of texts) queueMicrotask(() => this.#hear(text));
    this.#carrier?.broadcast(texts);
  }

  async #send(to: string, text: string): Promise<boolean> {
    if (!this.#members.has(to)) return (await this.#carrier?.send(to, text)) ?? false;
    queueMicrotask(() => this.#hear(text));
    return true;
  }

  #hear(text: string): void {
    try {
      this.#pass(text);
    } catch {
      // A listener has failed on a value that any program may have sent.
    }
  }

  #pass(text: string): void {
    // No member sends a longer one. A UTF-8 text has at least as many bytes as characters.
    if (text.length > this.#maxBytes) return;
    const frame = frameOf(text);
    if (frame === undefined) return;
    if (frame.kind === "question" || frame.kind === "answer") this.#members.get(frame.to)?.hear(frame);
    // A carrier may return texts that members of this process have sent and already received.
    else for (const member of this.#members.values()) if (member.name !== frame.from) member.hear(frame);
  }
}

interface HubPart {
  readonly maxBytes: number;
  /** True if no other member can receive anything. */
  readonly isAlone: () => boolean;
  readonly broadcast: (texts: readonly string[]) => void;
  readonly send: (to: string, text: string) => Promise<boolean>;
  readonly left: () => void;
}

type ValueListener = (value: unknown, from: string) => void;
type Answerer = (question: unknown, from: string) => Promise<unknown> | undefined;

class HubMember implements SignalMember {
  readonly name: string;
  readonly #hub: HubPart;
  #changed = new Set<string>();
  #values = new Map<string, unknown>();
  #count = 0;
  #timer: NodeJS.Timeout | undefined;
  /** Time of the last send, by `performance.now()`. */
  #sent = Number.NEGATIVE_INFINITY;
  #hasLeft = false;
  #onChanged: (taskIds: readonly string[]) => void = () => {};
  readonly #listeners = new Map<string, ValueListener>();
  readonly #answerers = new Map<string, Answerer>();
  /** The number of the last value of each sender and topic. */
  readonly #counts = new Map<string, number>();
  readonly #heard = new Map<string, true>();
  /** Receives the answer to each open question. */
  readonly #open = new Map<string, (value: unknown, from: string) => void>();

  constructor(name: string, hub: HubPart) {
    this.name = name;
    this.#hub = hub;
  }

  changed(taskId: string): void {
    if (this.#hasLeft || this.#hub.isAlone() || this.#changed.size >= MOST_IDS) return;
    this.#changed.add(taskId);
    if (this.#timer === undefined) this.#schedule();
  }

  onChanged(listener: (taskIds: readonly string[]) => void): void {
    this.#onChanged = listener;
  }

  publish<T>({ name }: Topic<T>, value: T): void {
    if (this.#hasLeft || this.#hub.isAlone()) return;
    this.#values.set(name, value);
    if (this.#timer === undefined) this.#schedule();
  }

  subscribe<T>(topic: Topic<T>, listener: (value: T, from: string) => void): void {
    this.#listeners.set(topic.name, (given, from) => {
      const value = topic.read(given);
      if (value !== undefined) listener(value, from);
    });
  }

  async ask<Q, A>(to: string, inquiry: Inquiry<Q, A>, question: Q, timeoutMs: number): Promise<A | undefined> {
    if (this.#hasLeft) return undefined;
    const id = newId();
    const text = frameText({ kind: "question", from: this.name, to, id, topic: inquiry.name, value: question });
    if (utf8LengthOf(text) > this.#hub.maxBytes) return undefined;
    const begin = (resolve: (answer: A | undefined) => void): (() => void) => {
      this.#open.set(id, (value, from) => {
        const answer = from === to ? inquiry.readAnswer(value) : undefined;
        if (answer !== undefined) resolve(answer);
      });
      void this.#hub.send(to, text).then((mayExist) => mayExist || resolve(undefined));
      return () => void this.#open.delete(id);
    };
    return boundedCall(begin, { timeout: { ms: timeoutMs, result: () => undefined } });
  }

  answer<Q, A>(inquiry: Inquiry<Q, A>, handler: (question: Q, from: string) => Promise<A>): void {
    this.#answerers.set(inquiry.name, (given, from) => {
      const question = inquiry.readQuestion(given);
      return question === undefined ? undefined : handler(question, from);
    });
  }

  leave(): void {
    if (this.#hasLeft) return;
    if (this.#timer !== undefined) this.#flush();
    this.#hasLeft = true;
    this.#hub.left();
  }

  hear(frame: Frame): void {
    if (this.#hasLeft) return;
    if (frame.kind === "changed") this.#onChanged(frame.taskIds);
    else if (frame.kind === "value") this.#hearValue(frame);
    else if (frame.kind === "question") void this.#answer(frame);
    else this.#open.get(frame.id)?.(frame.value, frame.from);
  }

  #schedule(): void {
    const ms = Math.max(FIRST_MS, this.#sent + COLLECT_MS - performance.now());
    this.#timer = background(setTimeout(this.#flush, ms));
  }

  readonly #flush = (): void => {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#sent = performance.now();
    const { maxBytes } = this.#hub;
    const texts = changedTexts(this.name, this.#changed, maxBytes);
    for (const [topic, value] of this.#values) {
      const text = frameText({ kind: "value", from: this.name, count: ++this.#count, topic, value });
      if (utf8LengthOf(text) <= maxBytes) texts.push(text);
    }
    this.#changed = new Set();
    this.#values = new Map();
    if (texts.length > 0) this.#hub.broadcast(texts);
  };

  #hearValue({ from, count, topic, value }: Extract<Frame, { kind: "value" }>): void {
    const listener = this.#listeners.get(topic);
    if (listener === undefined) return;
    const key = `${topic} ${from}`;
    if (count <= (this.#counts.get(key) ?? 0)) return;
    this.#counts.delete(key);
    this.#counts.set(key, count);
    evictOldest(this.#counts, MOST_SENDERS);
    listener(value, from);
  }

  async #answer({ id, topic, value, from }: Question): Promise<void> {
    const key = `${from} ${id}`;
    if (this.#heard.has(key)) return;
    this.#heard.set(key, true);
    evictOldest(this.#heard, MOST_QUESTIONS);
    try {
      const answer = await this.#answerers.get(topic)?.(value, from);
      if (answer === undefined) return;
      const text = frameText({ kind: "answer", from: this.name, to: from, id, value: answer });
      if (utf8LengthOf(text) <= this.#hub.maxBytes) await this.#hub.send(from, text);
    } catch {
      // Without an answer, the member that asked acts as it would without signals.
    }
  }
}

/** Signals between engines of one process that share an open store. */
export function localSignals(): Signals {
  return new SignalHub();
}
