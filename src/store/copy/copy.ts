import { createHash, type Hash } from "node:crypto";
import { StoreError } from "../task-store.js";
import type { Batch, CopySource, CopyTarget, Kind, Row } from "./records.js";

export interface CopyProgress {
  readonly doing: "copying" | "verifying";
  readonly tasks: number;
  /** Tasks of the source. */
  readonly of: number;
}

/** Numbers of records of each kind, and of entries. */
export type CopyCounts = { readonly [K in Kind | "entry"]: number };

/**
 * Copies all records to an empty store, and reads both to compare them, one task after the other. Its memory is
 * bounded, however long a task is. If it fails, the target stays marked as unfinished.
 * @throws StoreError `failed` if the stores differ at the end, or if a server used one of them meanwhile
 */
export async function copyStore(
  source: CopySource,
  target: CopyTarget,
  onProgress: (progress: CopyProgress) => void = () => {},
): Promise<CopyCounts> {
  const of = await source.countTasks();
  const counts: Record<Kind | "entry", number> = {
    ...{ task: 0, entry: 0, segment: 0, snapshot: 0, piece: 0, send: 0 },
    ...{ config: 0, attempt: 0, conversation: 0, restoration: 0 },
  };
  for await (const batch of source.read()) {
    await target.write(batch);
    counts[batch.kind] += batch.rows.length;
    if (batch.kind === "segment") counts.entry += entriesIn(batch);
    onProgress({ doing: "copying", tasks: counts.task, of });
  }
  await target.finish();
  await verify(source, target, (tasks) => onProgress({ doing: "verifying", tasks, of }));
  await source.checkUnused();
  await target.checkUnused();
  await target.complete();
  return counts;
}

function entriesIn({ rows }: Batch): number {
  return rows.reduce((sum, [, , count]) => sum + Number(count), 0);
}

async function verify(source: CopySource, target: CopyTarget, onTasks: (tasks: number) => void): Promise<void> {
  const copies = digestsOf(target.read());
  try {
    let tasks = 0;
    for await (const { name, hash } of digestsOf(source.read())) {
      const { value: copy } = await copies.next();
      if (copy?.name !== name || copy.hash !== hash) throw different(source, target, name);
      onTasks(++tasks);
    }
    const { value: more } = await copies.next();
    if (more !== undefined) throw different(source, target, more.name);
  } finally {
    await copies.return(undefined);
  }
}

function different(source: CopySource, target: CopyTarget, name: string): StoreError {
  return new StoreError(
    "failed",
    `The copy in ${target.name} is not usable: ${name} differs from ${source.name}. If a server used the source ` +
      "meanwhile, end it and copy again.",
  );
}

/** Digest of a task, or of a record without a task: its key and a hash of everything that is stored for it. */
interface Digest {
  readonly name: string;
  readonly hash: string;
}

/** Digests of a stream of records, in its order. Its memory is bounded by a page. */
async function* digestsOf(batches: AsyncIterable<Batch>): AsyncGenerator<Digest> {
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

/** Adds a record to a hash. Different records never add the same bytes. */
function add(hash: Hash, kind: Kind, row: Row): void {
  const sizes = row.map((value) => (value instanceof Uint8Array ? { bytes: value.length } : value));
  hash.update(`${JSON.stringify([kind, ...sizes])}\n`);
  for (const value of row) if (value instanceof Uint8Array) hash.update(value);
}
