import type { Entry } from "../../../../gen/parley/admin/v1/admin_pb.js";
import { admin } from "../../api/admin.js";
import { millisOf } from "./task-row.js";

/** Entries that are read and forgotten together. */
const CHUNK = 200;

/** Most bytes of entries that are kept. */
const MAX_BYTES = 48 * 1024 * 1024;

interface Chunk {
  readonly entries: Entry[];
  bytes: number;
}

/**
 * The log of a task, of which the parts in view are kept. Positions begin with 1; an entry that does not decode has one
 * too.
 */
export class TaskLog {
  readonly taskId: string;
  /** Position of the last entry. */
  #total = 0;
  readonly #chunks = new Map<number, Chunk>();
  readonly #reading = new Map<number, Promise<Chunk>>();
  #bytes = 0;
  #version = 0;
  #frame = 0;
  readonly #listeners = new Set<() => void>();
  /** Error of the last read. */
  error: unknown;

  constructor(taskId: string) {
    this.taskId = taskId;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** Grows with each change, at most once a frame. */
  readonly version = (): number => this.#version;

  get total(): number {
    return this.#total;
  }

  /** Notes that the log has entries up to a position. */
  reach(position: number): void {
    if (position <= this.#total) return;
    this.#total = position;
    // A chunk that was the last one has more now.
    const last = this.#chunks.get(chunkOf(position));
    if (last !== undefined) this.#forget(chunkOf(position), last);
    this.#tell();
  }

  /** Adds the next entry of a stream. */
  append(entry: Entry): void {
    const position = entry.entry?.position ?? this.#total + 1;
    if (position <= this.#total) return;
    const [index, offset] = [chunkOf(position), (position - 1) % CHUNK];
    if (offset === 0) this.#chunks.set(index, { entries: [], bytes: 0 });
    const chunk = this.#chunks.get(index);
    if (chunk?.entries.length === offset) {
      chunk.entries.push(entry);
      chunk.bytes += entry.bytes;
      this.#bytes += entry.bytes;
    } else if (chunk !== undefined) this.#forget(index, chunk);
    this.#total = position;
    this.#evict(index);
    this.#tell();
  }

  /** Returns an entry that is kept. */
  peek(position: number): Entry | undefined {
    return this.#chunks.get(chunkOf(position))?.entries[(position - 1) % CHUNK];
  }

  /** Reads entries around a view; those that are kept are not read again. */
  want(from: number, to: number): void {
    for (let index = chunkOf(Math.max(1, from)); index <= chunkOf(Math.min(to, this.#total)); index++) {
      if (!this.#isWhole(index)) this.#read(index).catch(() => {});
    }
  }

  async get(position: number): Promise<Entry | undefined> {
    return this.peek(position) ?? (await this.#read(chunkOf(position))).entries[(position - 1) % CHUNK];
  }

  /** The first position whose entry has this time or a later one; the last position if none has. */
  async positionAt(at: number): Promise<number> {
    let [low, high] = [1, Math.max(1, this.#total)];
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      const time = millisOf((await this.get(middle))?.entry?.time);
      if (time !== undefined && time >= at) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  #isWhole(index: number): boolean {
    const length = this.#chunks.get(index)?.entries.length ?? 0;
    return length === CHUNK || index * CHUNK + length >= this.#total;
  }

  #read(index: number): Promise<Chunk> {
    const known = this.#chunks.get(index);
    if (known !== undefined && this.#isWhole(index)) return Promise.resolve(known);
    const reading = this.#reading.get(index) ?? this.#fetch(index);
    this.#reading.set(index, reading);
    return reading;
  }

  async #fetch(index: number): Promise<Chunk> {
    const total = this.#total;
    try {
      const entries: Entry[] = [];
      // A page may be shorter, because its size is limited.
      for (let pageToken = ""; entries.length < CHUNK; ) {
        const page = { after: index * CHUNK, pageSize: CHUNK - entries.length, pageToken };
        const answer = await admin.listEntries({ taskId: this.taskId, ...page });
        entries.push(...answer.entries);
        pageToken = answer.nextPageToken;
        if (pageToken === "") break;
      }
      const before = this.#chunks.get(index);
      if (before !== undefined) this.#forget(index, before);
      const chunk = { entries, bytes: entries.reduce((sum, { bytes }) => sum + bytes, 0) };
      this.#chunks.set(index, chunk);
      this.#bytes += chunk.bytes;
      const end = index * CHUNK + entries.length;
      // A damaged log may have fewer entries than its task says.
      const isCut = entries.length < CHUNK && this.#total === total;
      this.#total = isCut ? end : Math.max(this.#total, end);
      this.error = undefined;
      this.#evict(index);
      return chunk;
    } catch (error) {
      this.error = error;
      throw error;
    } finally {
      this.#reading.delete(index);
      this.#tell();
    }
  }

  #forget(index: number, chunk: Chunk): void {
    this.#chunks.delete(index);
    this.#bytes -= chunk.bytes;
  }

  /** Forgets the chunks that are farthest from one. */
  #evict(near: number): void {
    while (this.#bytes > MAX_BYTES && this.#chunks.size > 2) {
      const [far] = [...this.#chunks].reduce((one, other) =>
        Math.abs(other[0] - near) > Math.abs(one[0] - near) ? other : one,
      );
      const chunk = this.#chunks.get(far);
      if (chunk === undefined || far === near) return;
      this.#forget(far, chunk);
    }
  }

  #tell(): void {
    this.#version += 1;
    if (this.#frame !== 0) return;
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      for (const listener of this.#listeners) listener();
    });
  }
}

const chunkOf = (position: number): number => Math.floor((position - 1) / CHUNK);
