import { planSegments, type Segment, writeEntries } from "../segment.js";
import type {
  AppendRequest,
  AttemptFacts,
  ConversationWrite,
  DeliveryOutcome,
  Fence,
  IdempotencyKey,
  IdempotencyRecord,
  Lease,
  NewPushConfig,
  SnapshotPiece,
} from "../task-store.js";
import { numberIn, textIn } from "./column.js";
import type { AppendWrite, OtherWrite, Write, WriteRequest } from "./write.js";

/**
 * Writes on their way to the writer thread. Strings and numbers travel in one flat array, bytes in one transferred
 * buffer, which costs half of a message of objects or less (docs/store-sqlite.md). Writes other than appends, snapshots
 * and completions are rare and travel as objects, in sequence with the fields.
 */
export interface Message {
  readonly count: number;
  readonly fields: readonly Field[];
  readonly bytes: ArrayBuffer;
  /** Offset of the bytes in it; 0 if absent. */
  readonly start?: number;
  /** Bytes of it in use. */
  readonly size: number;
  /** True for bulk writes, for which small ones do not wait. */
  bulk?: true;
}

/** Sent instead of a message: finish everything sent before, close the file, and exit. */
export const CLOSE = "close";

/** Sent instead of a message: test if the disk accepts a commit. */
export const PROBE = "probe";

export type ToWriter = Message | typeof CLOSE | typeof PROBE;

type Field = string | number | null | OtherWrite;

/** All fields of any outcome. */
interface Outcome {
  readonly at: number;
  readonly failure: string;
  readonly failingSince: number;
  readonly attempt: AttemptFacts | undefined;
}

/** Tag before the fields of an append, a snapshot or a completion. */
const APPEND = 0;
const SNAPSHOT = 1;
const COMPLETION = 2;

/** Flags for the optional parts of an append. */
const HAS_SEND = 1;
const HAS_PUSH_CONFIG = 2;
const HAS_CONVERSATION = 4;

/** Smallest buffer of a message, in bytes. */
const MIN_CAPACITY = 16 * 1024;

/** Collects writes into a message. The caller may reuse its arrays afterwards. */
export class MessageBuilder {
  #count = 0;
  #fields: Field[] = [];
  #bytes: Uint8Array<ArrayBuffer> = new Uint8Array(0);
  #size = 0;

  /** Bytes so far. */
  get size(): number {
    return this.#size;
  }

  /** Adds an append; `finishes` tells that the state of its head is terminal. */
  addAppend(request: AppendRequest, finishes: boolean): void {
    const { head, expected, entries, send, fence, lease, pushConfig, conversation } = request;
    const segments = planSegments(entries);
    // Reserving memory may fail, so it comes first: a message never contains half an append.
    const others = (pushConfig?.bytes.length ?? 0) + (conversation?.bytes.length ?? 0);
    this.#reserve(segments.reduce((sum, { bytes }) => sum + bytes, others));
    this.#fields.push(
      APPEND,
      head.taskId,
      head.tenant,
      head.owner,
      head.contextId,
      head.state,
      head.statusTime,
      head.position,
      head.generation,
      fence?.holder ?? null,
      fence?.attempt ?? 0,
      lease?.holder ?? null,
      lease?.turn ?? 0,
      lease?.attempt ?? 0,
      expected,
      finishes ? 1 : 0,
      request.time ?? head.statusTime,
      (send === undefined ? 0 : HAS_SEND) +
        (pushConfig === undefined ? 0 : HAS_PUSH_CONFIG) +
        (conversation === undefined ? 0 : HAS_CONVERSATION),
      segments.length,
    );
    if (send !== undefined) {
      this.#fields.push(send.tenant, send.owner, send.key, send.fingerprint, send.taskId, send.position);
    }
    if (pushConfig !== undefined) {
      const { configId, target, maxPerTask, maxPerOwner, ofAllTenants = false, bytes } = pushConfig;
      this.#fields.push(configId, target, maxPerTask, maxPerOwner, ofAllTenants ? 1 : 0);
      this.#addBytes(bytes);
    }
    if (conversation !== undefined) {
      this.#fields.push(conversation.expected, conversation.version);
      this.#addBytes(conversation.bytes);
    }
    let first = 0;
    for (const { count, bytes } of segments) {
      this.#fields.push(count, bytes);
      const part = segments.length === 1 ? entries : entries.slice(first, first + count);
      this.#size = writeEntries(this.#bytes, this.#size, part);
      first += count;
    }
    this.#count += 1;
  }

  /** Adds a snapshot, or a piece of one. */
  addSnapshot(taskId: string, snapshot: SnapshotPiece): void {
    const { position, bytes, piece = 0, last = true } = snapshot;
    this.#reserve(bytes.length);
    this.#fields.push(SNAPSHOT, taskId, position, piece, last ? 1 : 0);
    this.#addBytes(bytes);
    this.#count += 1;
  }

  addCompletion({ key, holder, claim, position, outcome }: WriteRequest<"completeDelivery">): void {
    const { at = 0, failure, failingSince, attempt }: { kind: string } & Partial<Outcome> = outcome;
    this.#fields.push(COMPLETION, key.taskId, key.configId, holder, claim, position);
    this.#fields.push(outcome.kind, at, failure ?? null, failingSince ?? null, attempt?.time ?? null);
    if (attempt !== undefined) {
      this.#fields.push(attempt.durationMs, attempt.generation, attempt.status, attempt.answer);
    }
    this.#count += 1;
  }

  /** Adds any other write, which the caller must not change afterwards. */
  addOther(write: OtherWrite): void {
    this.#fields.push(write);
    this.#count += 1;
  }

  /** Returns the message and starts another. Its buffer is to be transferred. */
  take(): Message {
    const message = { count: this.#count, fields: this.#fields, bytes: this.#bytes.buffer, size: this.#size };
    this.#count = 0;
    this.#fields = [];
    this.#bytes = new Uint8Array(0);
    this.#size = 0;
    return message;
  }

  /** Adds bytes for which memory was reserved. */
  #addBytes(bytes: Uint8Array): void {
    this.#fields.push(bytes.length);
    this.#bytes.set(bytes, this.#size);
    this.#size += bytes.length;
  }

  #reserve(more: number): void {
    const needed = this.#size + more;
    if (needed <= this.#bytes.length) return;
    // Not from the shared pool, which cannot be transferred, and not zeroed.
    const larger = Buffer.allocUnsafeSlow(Math.max(MIN_CAPACITY, needed, this.#bytes.length * 2));
    larger.set(this.#bytes.subarray(0, this.#size));
    this.#bytes = larger;
  }
}

/** The writes of a message, in their order. */
export function readMessage(message: Message): Write[] {
  const cursor = new Cursor(message);
  const writes: Write[] = [];
  for (let index = 0; index < message.count; index++) writes.push(cursor.next());
  return writes;
}

class Cursor {
  readonly #fields: readonly Field[];
  readonly #bytes: ArrayBuffer;
  #field = 0;
  #byte: number;

  constructor(message: Message) {
    this.#fields = message.fields;
    this.#bytes = message.bytes;
    this.#byte = message.start ?? 0;
  }

  next(): Write {
    const field = this.#take();
    if (typeof field === "object" && field !== null) return field;
    if (field === APPEND) return this.#append();
    return field === SNAPSHOT ? this.#snapshot() : this.#completion();
  }

  #completion(): OtherWrite {
    const key = { taskId: this.#string(), configId: this.#string() };
    const progress = { key, holder: this.#string(), claim: this.#number(), position: this.#number() };
    const kind = this.#string() as DeliveryOutcome["kind"];
    const at = this.#number();
    const failure = this.#stringOrNull() ?? undefined;
    const since = this.#take();
    const failingSince = since === null ? undefined : numberIn(since);
    // A field that this kind of outcome lacks is undefined here and never read.
    const outcome = { kind, at, failure, failingSince, attempt: this.#attempt() } as DeliveryOutcome;
    return { method: "completeDelivery", request: { ...progress, outcome } };
  }

  #attempt(): AttemptFacts | undefined {
    const time = this.#take();
    if (time === null) return undefined;
    return {
      time: numberIn(time),
      durationMs: this.#number(),
      generation: this.#number(),
      status: this.#number(),
      answer: this.#string(),
    };
  }

  #snapshot(): Write {
    const taskId = this.#string();
    const position = this.#number();
    const piece = this.#number();
    const last = this.#number() === 1;
    const bytes = this.#view(this.#number());
    return { method: "saveSnapshot", request: { taskId, snapshot: { position, bytes, piece, last } } };
  }

  #append(): AppendWrite {
    const head = {
      taskId: this.#string(),
      tenant: this.#string(),
      owner: this.#string(),
      contextId: this.#string(),
      state: this.#number(),
      statusTime: this.#number(),
      position: this.#number(),
      generation: this.#number(),
    };
    const fence = this.#fence();
    const lease = this.#lease();
    const expected = this.#number();
    const finishes = this.#number() === 1;
    const time = this.#number();
    const parts = this.#number();
    const segmentCount = this.#number();
    const send = parts & HAS_SEND ? this.#send() : undefined;
    const pushConfig = parts & HAS_PUSH_CONFIG ? this.#pushConfig() : undefined;
    const conversation = parts & HAS_CONVERSATION ? this.#conversation() : undefined;
    const segments: Segment[] = [];
    for (let index = 0; index < segmentCount; index++) segments.push(this.#segment());
    return { method: "append", head, expected, finishes, fence, lease, send, pushConfig, conversation, time, segments };
  }

  #fence(): Fence | undefined {
    const holder = this.#stringOrNull();
    const attempt = this.#number();
    return holder === null ? undefined : { holder, attempt };
  }

  #lease(): Lease | undefined {
    const holder = this.#stringOrNull();
    const turn = this.#number();
    const attempt = this.#number();
    return holder === null ? undefined : { holder, turn, attempt };
  }

  #send(): IdempotencyKey & IdempotencyRecord {
    return {
      tenant: this.#string(),
      owner: this.#string(),
      key: this.#string(),
      fingerprint: this.#string(),
      taskId: this.#string(),
      position: this.#number(),
    };
  }

  #pushConfig(): NewPushConfig {
    return {
      configId: this.#string(),
      target: this.#string(),
      maxPerTask: this.#number(),
      maxPerOwner: this.#number(),
      ofAllTenants: this.#number() === 1,
      bytes: this.#view(this.#number()),
    };
  }

  #conversation(): ConversationWrite {
    return { expected: this.#number(), version: this.#number(), bytes: this.#view(this.#number()) };
  }

  #segment(): Segment {
    const count = this.#number();
    return { count, bytes: this.#view(this.#number()) };
  }

  #view(size: number): Uint8Array {
    const bytes = new Uint8Array(this.#bytes, this.#byte, size);
    this.#byte += size;
    return bytes;
  }

  #take(): Field | undefined {
    return this.#fields[this.#field++];
  }

  #string(): string {
    return textIn(this.#take());
  }

  #number(): number {
    return numberIn(this.#take());
  }

  #stringOrNull(): string | null {
    const field = this.#take();
    return field === null ? null : textIn(field);
  }
}
