import { WELL_KNOWN_PATH } from "../wire/card-names.js";
import type { CardJson } from "./card-json.js";
import type { CardDialect } from "./version.js";
import type { Versions } from "./versions.js";

/** Which of its members a signed card is signed with. */
export type SignedMembers =
  /** All, exactly as they are served. */
  | "all"
  /**
   * The same, followed by the interfaces of the service's own version alone, for its readers that drop unknown ones.
   */
  | "all-and-native"
  /** The version has no place for signatures. */
  | "none";

/** A form in which a card is served that is not the service's own. */
export interface OtherShape {
  /** Distinguishes it from the others. */
  readonly name: string;
  readonly signed: SignedMembers;
  /**
   * Loads the conversion from the JSON of a card of the service's own version, which names the interfaces of all
   * versions. The conversion returns undefined for a card that this shape cannot express.
   */
  readonly load: () => Promise<(card: CardJson) => CardJson | undefined>;
  /**
   * True to serve a card that this shape cannot express in the service's own shape; otherwise it is not served here.
   */
  readonly orNative: boolean;
}

/**
 * A form in which a card is served. `native`: as the service's own version has it, with the interfaces of that one alone; `all`: the same with
 * those of all versions.
 */
export type CardShape = "native" | "all" | OtherShape;

/** The shapes of a card at one path. */
export interface ShapesAt {
  /** Without the name of an agent's tenant before it. */
  readonly path: string;
  /** The shape for a value of `A2A-Version`, undefined where a request has none. */
  for(asked: string | undefined): CardShape;
}

/**
 * The paths at which cards are served, and in which shapes: at that of the service's own version one card that readers of another
 * version with that path understand too, at each other path one for all versions that have it. A request that names its version gets
 * that one's alone. Versions that are not served have no shape.
 */
export function cardShapesOf(versions: Versions): readonly ShapesAt[] {
  const rows = versions.others.flatMap(({ name, card }) => (card === undefined ? [] : [{ name, card }]));
  const shapes = new Map(rows.map((row) => [row.name, shapeOf(row)]));
  const named = (asked: string | undefined): CardShape | undefined => {
    const name = asked === undefined || asked.trim() === "" ? undefined : versions.named(asked);
    if (name === undefined) return undefined;
    return name === versions.native.name ? "native" : (shapes.get(name) ?? "all");
  };
  const shared = rows.find(({ card }) => card.path === WELL_KNOWN_PATH);
  const usual = shared === undefined ? "all" : shapeInBoth(shared);
  const others = new Set(rows.map(({ card }) => card.path).filter((path) => path !== WELL_KNOWN_PATH));
  return [
    { path: WELL_KNOWN_PATH, for: (asked) => named(asked) ?? usual },
    ...[...others].map((path) => {
      const shape = shapeForAll(rows.filter(({ card }) => card.path === path));
      return { path, for: (asked: string | undefined) => named(asked) ?? shape };
    }),
  ];
}

/** A version with cards of its own. */
interface Row {
  readonly name: string;
  readonly card: CardDialect;
}

function shapeOf({ name, card }: Row): OtherShape {
  const signed = card.isSigned ? "all" : "none";
  return { name, signed, load: async () => (await card.load()).convert, orNative: false };
}

/** One card for readers of a version and of the service's own. */
function shapeInBoth({ card }: Row): OtherShape {
  const load: OtherShape["load"] = async () => {
    const { convert, inBoth = convert } = await card.load();
    return inBoth;
  };
  return { name: "both", signed: "all-and-native", load, orNative: true };
}

/** One card for readers of several versions, the newest first: a reader of either would miss the other's required members. */
function shapeForAll(rows: readonly Row[]): OtherShape {
  const [only] = rows;
  if (rows.length === 1 && only !== undefined) return shapeOf(only);
  const load: OtherShape["load"] = async () => {
    const all = await Promise.all(rows.map(({ card }) => card.load()));
    return (card) => {
      const made = all.map(({ convert }) => convert(card));
      return made.includes(undefined) ? undefined : Object.assign({}, ...made.toReversed());
    };
  };
  return { name: "earlier", signed: "none", load, orNative: false };
}
