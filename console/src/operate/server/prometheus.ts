/** Labels of a sample by their names. */
export type Labels = ReadonlyMap<string, string>;

const line = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)/;
const label = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g;

/** Reads the samples of a text in the format of Prometheus. Lines of another form are left out. */
export function* samplesIn(
  text: string,
): Generator<{ readonly name: string; readonly labels: Labels; readonly value: number }> {
  for (const each of text.split("\n")) {
    if (each === "" || each.startsWith("#")) continue;
    const [, name, named = "", number = ""] = line.exec(each) ?? [];
    const value = numberIn(number);
    if (name === undefined || Number.isNaN(value)) continue;
    const labels = new Map([...named.matchAll(label)].map(([, key = "", raw = ""]) => [key, unescaped(raw)] as const));
    yield { name, labels, value };
  }
}

function numberIn(text: string): number {
  if (text === "+Inf") return Number.POSITIVE_INFINITY;
  return text === "-Inf" ? Number.NEGATIVE_INFINITY : Number(text);
}

const unescaped = (text: string): string =>
  text.replaceAll(/\\(.)/g, (_, letter: string) => (letter === "n" ? "\n" : letter));
