import type { TurnConversationState } from "../../agent/conversation.js";
import { jsonCopy } from "../../agent/json-copy.js";
import { isPromiseLike } from "../../core/async.js";
import { utf8LengthOf, utf8Of } from "../../core/bytes.js";
import { defined } from "../../core/members.js";
import {
  type AppendRequest,
  type AppendResult,
  type ConversationKey,
  StoreError,
  type TaskStore,
} from "../../store/task-store.js";
import { isMoved, readForAgent, unavailable } from "./outage.js";

/** Maximum size of a conversation's state as JSON, in bytes. */
export const MAX_STATE_BYTES: number = 256 * 1024;

/** A new state's version is a random number up to this one. */
const MAX_FIRST_VERSION = 2 ** 48;

/** A version that no state has. */
const NO_VERSION = -1;

const utf8 = new TextDecoder();

/** The error of a turn whose change fails on a newer state. Its cause is the error of the change. */
export class StateChangeFailed extends Error {
  override name = "StateChangeFailed";

  constructor(cause: unknown) {
    super("A change of the conversation's state failed on a newer state.", { cause });
  }
}

/** The state as stored; `text` is its JSON, undefined without a state. */
interface Base {
  readonly version: number;
  readonly text: string | undefined;
}

/** A change that is not stored yet. */
interface Change {
  /** Returns the next state as JSON. */
  readonly apply: (before: string | undefined) => string;
  /** The state after this change, on the present base. */
  text: string;
}

interface StateChangesSource {
  readonly store: Pick<TaskStore, "append" | "conversation" | "history">;
  readonly key: ConversationKey;
  /** Position of the turn's message. */
  readonly turn: number;
  /** Number of changes that earlier attempts of the turn have stored. */
  readonly stored: number;
  /** Returns the number of stored changes up to the last step whose stored result this attempt has reused. */
  readonly reused: () => number;
  /** Returns the reason why nothing can be changed now. */
  readonly refusal: () => string | undefined;
  readonly signal: () => AbortSignal;
}

/**
 * The changes of a turn to the state of its conversation. They wait here until an entry of the turn is appended, and
 * are stored with it. Changes of another turn move the base; the waiting ones are then applied again.
 */
export class StateChanges implements TurnConversationState {
  readonly #source: StateChangesSource;
  #base: Base | undefined;
  #reading: Promise<Base> | undefined;
  /** The version at which the store refused a write. */
  #movedFrom: number | undefined;
  /** Changes that are not stored yet, in order. */
  readonly #waiting: Change[] = [];
  /** Number of changes that are stored, by this attempt or an earlier one. */
  #stored: number;
  /** Number of changes that this attempt has made, including those that an earlier one has stored. */
  #made = 0;
  #failure: StateChangeFailed | undefined;
  /** Number of moves of the store to other servers before the base was read. */
  #moves: number | undefined;
  #calls: Promise<unknown> = Promise.resolve();

  constructor(source: StateChangesSource) {
    this.#source = source;
    this.#stored = source.stored;
    this.#moves = source.store.history?.moves;
  }

  async get<T>(): Promise<T | undefined> {
    await this.#read();
    return stateFrom(this.#text) as T | undefined;
  }

  async set(value: unknown): Promise<void> {
    const text = stateText(value);
    await this.#change(() => text);
  }

  async update<T>(change: (before: T | undefined) => T): Promise<T> {
    return stateFrom(await this.#change((before) => stateText(change(stateFrom(before) as T | undefined)))) as T;
  }

  /** Position of the turn's message. */
  get turn(): number {
    return this.#source.turn;
  }

  /** Number of changes of the turn, if an entry that is appended now should carry some; otherwise undefined. */
  get unstored(): number | undefined {
    return this.#waiting.length === 0 || this.#failure !== undefined ? undefined : this.#stored + this.#waiting.length;
  }

  /** Number of changes that the attempt has made, if all of them are stored and there are any. */
  get allStored(): number | undefined {
    return this.#made > 0 && this.#made <= this.#stored ? this.#made : undefined;
  }

  /** True if some of the first `count` changes are not stored. */
  isWaiting(count = 0): boolean {
    return count > this.#stored;
  }

  /** Resolves when no call is in progress. */
  async settled(): Promise<void> {
    for (let calls: Promise<unknown> | undefined; calls !== this.#calls; ) {
      calls = this.#calls;
      await calls;
    }
  }

  /**
   * Appends together with the first `count` changes of the turn, unless they are stored. After `conversation-moved` the
   * next call tries the newer state.
   * @throws StateChangeFailed; StoreError
   */
  async append(request: AppendRequest, count = 0): Promise<AppendResult | undefined> {
    const { store } = this.#source;
    if (!this.isWaiting(count)) return store.append(request);
    const moves = store.history?.moves;
    if (moves !== this.#moves) {
      // Another server may have another state of the same version.
      this.#noteMoved(NO_VERSION);
      this.#moves = moves;
    }
    const { version } = await this.#read();
    const { text } = defined(this.#waiting[count - this.#stored - 1]);
    const next = version > 0 && version < Number.MAX_SAFE_INTEGER ? version + 1 : firstVersion();
    try {
      const conversation = { expected: version, version: next, bytes: utf8Of(text) };
      const result = await store.append({ ...request, conversation });
      this.#waiting.splice(0, count - this.#stored);
      this.#stored = count;
      this.#base = { version: next, text };
      this.#movedFrom = undefined;
      return result;
    } catch (error) {
      if (isMoved(error)) this.#noteMoved(version);
      throw error;
    }
  }

  #noteMoved(version: number): void {
    this.#movedFrom = version;
    this.#base = undefined;
    this.#reading = undefined;
  }

  /** The state with all changes. Requires a base. */
  get #text(): string | undefined {
    return (this.#waiting.at(-1) ?? this.#base)?.text;
  }

  #change(apply: Change["apply"]): Promise<string> {
    const done = this.#apply(apply);
    const settled = done.then(
      () => {},
      () => {},
    );
    this.#calls = Promise.all([this.#calls, settled]);
    return done;
  }

  async #apply(apply: Change["apply"]): Promise<string> {
    const refusal = this.#source.refusal();
    if (refusal !== undefined) throw new TypeError(refusal);
    await this.#read();
    // Changes inside steps with a stored result are not made again.
    this.#made = Math.max(this.#made, this.#source.reused());
    if (this.#made < this.#source.stored) {
      // The state exists as long as the task.
      this.#made++;
      return defined(this.#text);
    }
    const text = apply(this.#text);
    this.#made++;
    this.#waiting.push({ apply, text });
    return text;
  }

  /**
   * Reads the base, unless it is known, and applies the waiting changes to it.
   * @throws StateChangeFailed; A2AError UNAVAILABLE; StoreError
   */
  async #read(): Promise<Base> {
    if (this.#base !== undefined) return this.#base;
    this.#reading ??= this.#load();
    const reading = this.#reading;
    try {
      const base = await reading;
      if (this.#reading === reading) this.#rebase(base);
      return this.#base ?? (await this.#read());
    } finally {
      if (this.#reading === reading) this.#reading = undefined;
    }
  }

  async #load(): Promise<Base> {
    const { store, key, signal } = this.#source;
    const stored = await readForAgent(async () => store.conversation(key), signal).catch((error: unknown) => {
      throw unavailable(error);
    });
    return stored === undefined ? { version: 0, text: undefined } : { ...stored, text: utf8.decode(stored.bytes) };
  }

  #rebase(base: Base): void {
    if (this.#failure !== undefined) throw this.#failure;
    if (base.version === this.#movedFrom) {
      throw new StoreError("failed", `The store refuses version ${base.version} of a conversation, its current one.`);
    }
    let { text } = base;
    try {
      for (const change of this.#waiting) {
        change.text = change.apply(text);
        text = change.text;
      }
    } catch (error) {
      this.#failure = new StateChangeFailed(error);
      throw this.#failure;
    }
    this.#base = base;
  }
}

function firstVersion(): number {
  return Math.floor(Math.random() * MAX_FIRST_VERSION) + 1;
}

function stateFrom(text: string | undefined): unknown {
  return text === undefined ? undefined : JSON.parse(text);
}

/** @throws TypeError, RangeError */
function stateText(value: unknown): string {
  if (isPromiseLike(value)) throw new TypeError("A change of the conversation's state has to be synchronous.");
  const text = JSON.stringify(jsonCopy("The state of a conversation", value));
  const bytes = utf8LengthOf(text);
  if (bytes <= MAX_STATE_BYTES) return text;
  throw new RangeError(
    `The state of a conversation is at most ${MAX_STATE_BYTES} bytes of JSON, and this has ${bytes}.`,
  );
}
