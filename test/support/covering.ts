/**
 * Cases of a table that together have every trait that any case of the table has. The choice is the same in every run: of the
 * cases that add most, the first.
 */
export function covering<T>(table: readonly T[], traits: (one: T) => readonly string[]): readonly T[] {
  const cases = table.map((one) => ({ one, missing: new Set(traits(one)) }));
  const having = new Map<string, Set<string>[]>();
  for (const { missing } of cases) {
    for (const trait of missing) having.set(trait, [...(having.get(trait) ?? []), missing]);
  }
  const chosen = new Set<T>();
  for (;;) {
    const most = cases.reduce((best, each) => (each.missing.size > best.missing.size ? each : best));
    if (most.missing.size === 0) return table.filter((one) => chosen.has(one));
    chosen.add(most.one);
    for (const trait of [...most.missing]) for (const missing of having.get(trait) ?? []) missing.delete(trait);
  }
}

/** The pairs of values of a case, as traits. */
export function pairs(...values: readonly string[]): readonly string[] {
  return values.flatMap((one, i) => values.slice(i + 1).map((other, j) => JSON.stringify([i, one, i + 1 + j, other])));
}
