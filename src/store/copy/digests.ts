import { createHash, type Hash } from "node:crypto";
import type { Batch, Kind, Row } from "./records.js";

/** A task, or a record without a task, in short: its key and a hash of all that is stored of it. */
export interface Digest {
  readonly name: string;
  readonly hash: string;
}

/** Digests of a stream of records, in its order. Its memory is bounded by a page. */
export async function* digestsOf(batches: AsyncIterable<Batch>): AsyncGenerator<Digest> {
  let page = new Map<string, Hash>();
  for await (const { kind, rows } of batches) {
    const isOfTask = !(kind in ofNoTask);
    if (kind === "task" || !isOfTask) {
      yield* close(page);
      page = new Map();
    }
    for (const row of rows) {
      const name = nameOf(kind, row);
      let hash = page.get(name);
      if (hash === undefined) {
        hash = createHash("sha256");
        page.set(name, hash);
      }
      add(hash, kind, row);
    }
  }
  yield* close(page);
}

/** Records without a task, and the columns of their keys. */
const ofNoTask: Readonly<Partial<Record<Kind, number>>> = { conversation: 3, restoration: 1 };

function nameOf(kind: Kind, row: Row): string {
  const key = ofNoTask[kind];
  return key === undefined ? `task ${row[0]}` : `${kind} ${JSON.stringify(row.slice(0, key))}`;
}

function* close(page: ReadonlyMap<string, Hash>): Generator<Digest> {
  for (const [name, hash] of page) yield { name, hash: hash.digest("base64") };
}

/** Adds a record, so that no two different ones add the same bytes. */
function add(hash: Hash, kind: Kind, row: Row): void {
  const sizes = row.map((value) => (value instanceof Uint8Array ? { bytes: value.length } : value));
  hash.update(`${JSON.stringify([kind, ...sizes])}\n`);
  for (const value of row) if (value instanceof Uint8Array) hash.update(value);
}
