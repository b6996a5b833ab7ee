/** The most that the heap of this process may have, in bytes; Infinity where the runtime does not say. */
export function heapLimit(): number {
  const v8 = globalThis.process?.getBuiltinModule?.("node:v8");
  const bytes = v8?.getHeapStatistics?.().heap_size_limit ?? 0;
  return bytes > 0 ? bytes : Number.POSITIVE_INFINITY;
}
