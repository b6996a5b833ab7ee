import { WELL_KNOWN_PATH } from "../wire/card-names.js";
import type { CardJson } from "./card-json.js";
import type { CardDialect } from "./version.js";
import type { Versions } from "./versions.js";

/** The members that a card's signature covers. */
type SignedMembers =
  /** All members, exactly as served. */
  | "all"
  /** All members, and by another signature those that the service's own version knows, for its strict readers. */
  | "all-and-native"
  /** The version does not support signatures. */
  | "none";

/** A form of a card other than the service's own. */
interface OtherShape {
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
 * The form in which a card is served. `native` is the service's own version with only its interfaces; `all` also lists
 * those of all other versions.
 */
export type CardShape = "native" | "all" | OtherShape;

/** The shapes of a card at one path. */
export interface ShapesAt {
  /** The path without the prefix of an agent's tenant. */
  readonly path: string;
  /** Returns the shape for a value of `A2A-Version`, which is undefined if absent. */
  for(asked: string | undefined): CardShape;
}

/**
 * Returns the paths of cards and their shapes. The path of the service's own version has one card that readers of another
 * version with that path also understand. Each other path has one card for all versions that use it. A request that names
 * its version gets that version's card. Disabled versions have no shape.
 */
export function cardShapesOf(versions: Versions): readonly ShapesAt[] {
  const rows = versions.others.flatMap(({ name, card }) => (card === undefined ? [] : [{ name, card }]));
  const shapes = new Map(rows.map((row) => [row.name, otherShape(row)]));
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

/** A version with its own form of cards. */
interface CardVersion {
  readonly name: string;
  readonly card: CardDialect;
}

function otherShape({ name, card }: CardVersion): OtherShape {
  const signed = card.isSigned ? "all" : "none";
  return { name, signed, load: async () => (await card.load()).convert, orNative: false };
}

/** Returns the shape for readers of a version and of the service's own. */
function shapeInBoth({ card }: CardVersion): OtherShape {
  const load: OtherShape["load"] = async () => {
    const { convert, inBoth = convert } = await card.load();
    return inBoth;
  };
  return { name: "both", signed: "all-and-native", load, orNative: true };
}

/**
 * Returns the shape for readers of several versions, the newest first. A reader of one version would miss required members of
 * another, so the card has those of all versions or is not served.
 */
function shapeForAll(rows: readonly CardVersion[]): OtherShape {
  const [only] = rows;
  if (rows.length === 1 && only !== undefined) return otherShape(only);
  const load: OtherShape["load"] = async () => {
    const all = await Promise.all(rows.map(({ card }) => card.load()));
    return (card) => {
      const made = all.map(({ convert }) => convert(card));
      return made.includes(undefined) ? undefined : Object.assign({}, ...made.toReversed());
    };
  };
  return { name: "earlier", signed: "none", load, orNative: false };
}
