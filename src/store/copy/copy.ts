import { StoreError } from "../task-store.js";
import { digestsOf } from "./digests.js";
import type { Batch, CopySource, CopyTarget, Kind } from "./records.js";

/** Progress of a copy. */
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
