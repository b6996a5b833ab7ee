import { create, type DescField, type DescMessage, type Message, type MessageShape } from "@bufbuild/protobuf";
import { membersOf } from "../../core/members.js";
import { expectMessage } from "../../wire/expect-message.js";
import { accessTo, type FieldAccess, listIn } from "../../wire/field-rules.js";
import { cachedLike } from "../../wire/serialization-cache.js";

/**
 * Converts a message of one contract to the other. The result is a new message; if readers share the input, they share
 * the result as well, and must not modify it.
 */
export type Convert = (message: Message) => Message;

/** A type of the earlier contract and its counterpart in the native one. */
export interface Pair {
  readonly earlier: DescMessage;
  readonly native: DescMessage;
  /** Renamed fields: the earlier property, then the native one. */
  readonly renamed?: Readonly<Record<string, string>>;
  /** Fields of the earlier type without a single counterpart, which `up` and `down` convert. */
  readonly onlyEarlier?: readonly string[];
  /** Fields of the native type without a single counterpart. */
  readonly onlyNative?: readonly string[];
  /** Converts fields that the table cannot express, after the others, from the earlier message to the native one. */
  readonly up?: (earlier: never, native: never) => void;
  /** Converts such fields from the native message to the earlier one. */
  readonly down?: (native: never, earlier: never) => void;
}

/** Returns a pair whose functions are checked against its types. */
export function pair<Earlier extends DescMessage, Native extends DescMessage>(
  earlier: Earlier,
  native: Native,
  rest: Omit<Pair, "earlier" | "native" | "up" | "down"> & {
    readonly up?: (earlier: MessageShape<Earlier>, native: MessageShape<Native>) => void;
    readonly down?: (native: MessageShape<Native>, earlier: MessageShape<Earlier>) => void;
  } = {},
): Pair {
  return { earlier, native, ...rest } as Pair;
}

/** The contract that a converter writes. */
type Direction = "up" | "down";

/**
 * Converters between two contracts, compiled from a table of pairs. Fields of the same name are copied, and messages in
 * them are converted by their own pair. A type is compiled on first use.
 *
 * @throws TypeError for a field without a counterpart that its pair does not list, so that no field is lost silently
 */
export class Converters {
  readonly #pairs: readonly Pair[];
  readonly #compiled: Readonly<Record<Direction, Map<DescMessage, Convert>>> = { up: new Map(), down: new Map() };

  constructor(pairs: readonly Pair[]) {
    this.#pairs = pairs;
  }

  /**
   * Returns the converter to a type.
   *
   * @param to a type of the written contract
   * @param from the type that is read; needed only if `to` has several counterparts
   */
  to(direction: Direction, to: DescMessage, from?: DescMessage): Convert {
    const known = this.#compiled[direction].get(to);
    if (known !== undefined && from === undefined) return known;
    const [target, source] = direction === "up" ? (["native", "earlier"] as const) : (["earlier", "native"] as const);
    const found = this.#pairs.find(
      (each) =>
        each[target].typeName === to.typeName && (from === undefined || each[source].typeName === from.typeName),
    );
    if (found === undefined) throw new TypeError(`${to.typeName} has no counterpart in the other contract`);
    const convert = this.#compile(direction, found);
    if (from === undefined) this.#compiled[direction].set(to, convert);
    return convert;
  }

  #compile(direction: Direction, found: Pair): Convert {
    const isUp = direction === "up";
    const [source, target] = isUp ? [found.earlier, found.native] : [found.native, found.earlier];
    const names = isUp ? found.renamed : reversed(found.renamed);
    const left = new Set(isUp ? found.onlyEarlier : found.onlyNative);
    const steps = source.fields
      .filter(({ localName }) => !left.has(localName))
      .map((field) => {
        const name = names?.[field.localName] ?? field.localName;
        const like = target.fields.find(({ localName }) => localName === name);
        if (like === undefined)
          throw new TypeError(`${source.typeName}.${field.name} has no counterpart in ${target.typeName}`);
        return this.#step(direction, field, like);
      });
    const rest = (isUp ? found.up : found.down) as ((from: Message, to: Message) => void) | undefined;
    const make: Convert = (message) => {
      const made = create(target);
      for (const step of steps) step(message, made);
      rest?.(message, made);
      return made;
    };
    return isUp ? make : (message) => cachedLike(message, make);
  }

  #step(direction: Direction, field: DescField, like: DescField): (from: Message, to: Message) => void {
    const { get }: FieldAccess = accessTo(field);
    const { set }: FieldAccess = accessTo(like);
    const value = this.#value(direction, field, like);
    return (from, to) => {
      const found = get(from);
      if (found !== undefined) set(to, value === undefined ? found : value(found));
    };
  }

  /** Converts a value; undefined if both contracts share it unchanged. */
  #value(direction: Direction, field: DescField, like: DescField): ((value: unknown) => unknown) | undefined {
    const convert = this.#item(direction, field, like);
    switch (field.fieldKind) {
      case "list":
        return (list) => (convert === undefined ? [...listIn(list)] : listIn(list).map(convert));
      case "map":
        return (map) =>
          convert === undefined
            ? { ...membersOf(map) }
            : Object.fromEntries(Object.entries(membersOf(map)).map(([key, item]) => [key, convert(item)]));
      default:
        return convert;
    }
  }

  #item(
    direction: Direction,
    { message: from }: DescField,
    { message: to }: DescField,
  ): ((message: unknown) => Message) | undefined {
    if (from === undefined || to === undefined || from.typeName === to.typeName) return undefined;
    let convert: Convert | undefined;
    return (message) => {
      // Looked up on first use, because pairs are compiled on demand. A type may have several counterparts.
      convert ??= this.to(direction, to, from);
      return convert(expectMessage(from, message));
    };
  }
}

function reversed(names: Readonly<Record<string, string>> = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(names).map(([earlier, native]) => [native, earlier]));
}
