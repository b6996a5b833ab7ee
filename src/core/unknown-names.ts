/** How many letters a name may be off to be taken for a slip of another one. */
const MAX_OFF = 3;

/** What is wrong with names that are not known: each with the known name that comes nearest, where one is near. */
export function unknownNames(what: string, names: Iterable<string>, known: readonly string[]): string[] {
  return [...names].filter((name) => !known.includes(name)).map((name) => unknownName(what, name, known));
}

function unknownName(what: string, name: string, known: readonly string[]): string {
  const near = nearest(name, known);
  return `${what}${name} is not known${near === undefined ? "" : `: did you mean ${near}?`}`;
}

/**
 * The known name that a name was most likely meant to be, or undefined when none is near.
 * @param maxOff how many letters it may be off
 */
export function nearest(name: string, known: readonly string[], maxOff: number = MAX_OFF): string | undefined {
  const offs = known.map((each) => [distance(name.toLowerCase(), each.toLowerCase()), each] as const);
  const [off, near] = offs.sort(([a], [b]) => a - b)[0] ?? [];
  return off !== undefined && off <= Math.min(maxOff, name.length / 2) ? near : undefined;
}

/** Letters that have to be put in, left out or exchanged to make one text of the other (Levenshtein). */
function distance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, i) => i);
  for (const [i, letter] of [...from].entries()) {
    const next = [i + 1];
    for (let j = 0; j < to.length; j++) {
      const changed = (row[j] ?? 0) + (letter === to[j] ? 0 : 1);
      next.push(Math.min(changed, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}
