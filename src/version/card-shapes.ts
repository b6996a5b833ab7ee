import { latePart } from "../core/late-part.js";
import { EARLIER_WELL_KNOWN_PATH, WELL_KNOWN_PATH } from "../wire/card-names.js";
import { parseVersion } from "../wire/service-params.js";
import type { CardJson } from "./card-json.js";
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

const loadV03 = latePart(() => import("./v0.3/card.js"));
const loadV02 = latePart(() => import("./v0.2/card.js"));
const loadV01 = latePart(() => import("./v0.1/card.js"));

const shapes = {
  both: {
    name: "both",
    signed: "all-and-native",
    load: async () => (await loadV03()).cardInBoth,
    orNative: true,
  },
  "0.3": {
    name: "0.3",
    signed: "all",
    load: async () => {
      const { cardToV03 } = await loadV03();
      return (card) => cardToV03(card, "0.3");
    },
    orNative: false,
  },
  "0.2": { name: "0.2", signed: "none", load: async () => (await loadV02()).cardToV02, orNative: false },
  "0.1": { name: "0.1", signed: "none", load: async () => (await loadV01()).cardToV01, orNative: false },
  earlier: {
    name: "earlier",
    signed: "none",
    load: async () => {
      const [{ cardToV02 }, { cardToV01 }] = await Promise.all([loadV02(), loadV01()]);
      // A reader of either would miss the other's required members, so both are written, or neither.
      return (card) => {
        const [later, first] = [cardToV02(card), cardToV01(card)];
        return later && first && { ...first, ...later };
      };
    },
    orNative: false,
  },
} as const satisfies Record<string, OtherShape>;

/**
 * The paths at which cards are served, and in which shapes: at that of 1.0 and 0.3 one card that both read, at that of 0.2 and 0.1
 * one that these read; a request that names its version gets that one's alone. Versions that are not served have no shape.
 */
export function cardShapesOf(versions: Versions): readonly ShapesAt[] {
  const has = (name: string): boolean => versions.names.includes(name);
  const named = (asked: string | undefined): CardShape | undefined => {
    const name = asked === undefined || asked.trim() === "" ? undefined : parseVersion(asked);
    if (name === undefined || !has(name)) return undefined;
    if (name === versions.native.name) return "native";
    return Object.hasOwn(shapes, name) ? shapes[name as "0.3"] : "all";
  };
  const usual = has("0.3") ? shapes.both : "all";
  const paths: ShapesAt[] = [{ path: WELL_KNOWN_PATH, for: (asked) => named(asked) ?? usual }];
  const earlier = has("0.2") ? (has("0.1") ? shapes.earlier : shapes["0.2"]) : has("0.1") ? shapes["0.1"] : undefined;
  if (earlier !== undefined) paths.push({ path: EARLIER_WELL_KNOWN_PATH, for: (asked) => named(asked) ?? earlier });
  return paths;
}
