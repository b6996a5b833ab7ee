import { randomUUID } from "node:crypto";
import type { JsonValue } from "@bufbuild/protobuf";

/** The variables of one case. A name that begins with `uuid:` has a value of its own from its first use on. */
export class Variables {
  readonly #values: Map<string, string>;

  constructor(values: Readonly<Record<string, string>>) {
    this.#values = new Map(Object.entries(values));
  }

  /** The text with every `${name}` replaced. @throws Error for a name that is not known */
  fill(text: string): string {
    return text.replace(/\$\{([^}]+)\}/g, (_whole, name: string) => this.#value(name));
  }

  /** The same for all strings in a value, names of members included. */
  fillAll<T extends JsonValue | undefined>(value: T): T {
    if (typeof value === "string") return this.fill(value) as T;
    if (Array.isArray(value)) return value.map((item) => this.fillAll(item)) as unknown as T;
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) => [this.fill(name), this.fillAll(member)]),
    ) as T;
  }

  /** Remembers what stands at JSON pointers of a value. @throws Error where nothing stands there */
  capture(value: JsonValue, pointers: Readonly<Record<string, string>>): void {
    for (const [name, pointer] of Object.entries(pointers)) {
      const found = atPointer(value, pointer);
      if (typeof found !== "string") throw new Error(`nothing to capture at ${pointer} in ${JSON.stringify(value)}`);
      this.#values.set(name, found);
    }
  }

  #value(name: string): string {
    const value = this.#values.get(name) ?? (name.startsWith("uuid:") ? randomUUID() : undefined);
    if (value === undefined) throw new Error(`The case has no value ${name}.`);
    this.#values.set(name, value);
    return value;
  }
}

function atPointer(value: JsonValue, pointer: string): JsonValue | undefined {
  let found: JsonValue | undefined = value;
  for (const name of pointer.split("/").slice(1)) {
    found = typeof found === "object" && found !== null ? (found as Record<string, JsonValue>)[name] : undefined;
  }
  return found;
}
