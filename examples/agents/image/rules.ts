import type { Chat, Json, Reply, Rule } from "../offline-model/rules.js";
import { Drawing, type Figure, motifs } from "./drawing.js";

/** Rules of the offline model for pictures. They know the agent's motifs, colors, and a few ways to change them. */
export const rules: readonly Rule[] = [draw];

const words: readonly (readonly [pattern: RegExp, motif: Figure["motif"]])[] = [
  [/\b(sail)?(boat|ship)s?\b/, "sailboat"],
  [/\bsuns?\b/, "sun"],
  [/\bmoons?\b/, "moon"],
  [/\b(house|hut|home)s?\b/, "house"],
  [/\btrees?\b/, "tree"],
  [/\bhearts?\b/, "heart"],
  [/\bstars?\b/, "star"],
  [/\b(square|box|boxes)s?\b/, "square"],
  [/\btriangles?\b/, "triangle"],
  [/\b(circle|ball|dot)s?\b/, "circle"],
];

const colors: Readonly<Record<string, string>> = {
  red: "#d93025",
  orange: "#f29900",
  yellow: "#fbd234",
  green: "#2e7d32",
  blue: "#1a73e8",
  purple: "#8430ce",
  pink: "#f06292",
  brown: "#795548",
  black: "#1b1b1b",
  white: "#ffffff",
  gray: "#9aa0a6",
  gold: "#d4a017",
};

const usual: Readonly<Record<Figure["motif"], string>> = {
  ...{ circle: "#1a73e8", square: "#1a73e8", triangle: "#1a73e8", star: "#d4a017", heart: "#d93025" },
  ...{ sun: "#fbd234", moon: "#f4f1e8", house: "#c9b79c", tree: "#2e7d32", sailboat: "#8a5a33" },
};

function draw(chat: Chat): Reply | undefined {
  if (!chat.tools.includes("draw")) return undefined;
  const text = chat.texts.join(" ").toLowerCase();
  const present = presentIn(chat.system);
  const isEdit = present !== undefined && isChange(text);
  const drawing = isEdit ? changed(present, text) : drawn(text);
  if (drawing === undefined) {
    const known = motifs.map((motif) => `a ${motif}`).join(", ");
    return { text: `What shall I draw? I know ${known}.` };
  }
  const format = /\bsvg\b/.test(text) ? { format: "svg" } : /\bpng\b/.test(text) ? { format: "png" } : {};
  const delivery = /\b(link|url)\b/.test(text) ? { delivery: "link" } : {};
  return { calls: [{ name: "draw", input: { ...drawing, edits: isEdit, ...format, ...delivery } as Json }] };
}

/** The picture so far, which the agent puts into its instructions. A picture without a drawing has no figures. */
function presentIn(system: string): Drawing | undefined {
  const json = /^The picture so far: (\{.*\})$/m.exec(system)?.[1];
  if (json !== undefined) return Drawing.parse(JSON.parse(json));
  if (!system.includes("The picture so far: pixels")) return undefined;
  return { title: "picture", scene: "plain", background: "#ffffff", figures: [] };
}

function isChange(text: string): boolean {
  if (/\bnew (image|picture|drawing)\b/.test(text)) return false;
  return /\b(it|this|that|them|modify|change|edit|add|put|remove|without|bigger|larger|smaller|move|to be|turn|make the)\b/.test(
    text,
  );
}

/** A new drawing, with its figures beside each other. */
function drawn(text: string): Drawing | undefined {
  const { scene, background } = groundIn(text);
  const figures = figuresIn(text, scene === "land" ? 0.62 : 0.5);
  if (figures.length === 0) return undefined;
  const said = words.filter(([pattern]) => pattern.test(text)).map(([, motif]) => motif);
  return { title: [...said, ...(scene === "plain" ? [] : [`on the ${scene}`])].join(" "), scene, background, figures };
}

function groundIn(text: string): Pick<Drawing, "background" | "scene"> {
  const scene = /\b(sea|ocean|water|lake)\b/.test(text)
    ? "sea"
    : /\b(land|meadow|field|grass)\b/.test(text)
      ? "land"
      : "plain";
  const color = backgroundColor(text);
  if (color !== undefined) return { scene, background: color };
  if (/\bnight\b/.test(text)) return { scene, background: "#0b1d3a" };
  return { scene, background: scene === "plain" ? "#ffffff" : "#bfe3f7" };
}

function backgroundColor(text: string): string | undefined {
  const all = Object.keys(colors).join("|");
  const found =
    new RegExp(`\\b(${all}) (?:background|sky)`).exec(text) ??
    new RegExp(`(?:background|sky)\\b[^.]*?\\b(${all})\\b`).exec(text);
  return found?.[1] && colors[found[1]];
}

function figuresIn(text: string, middle = 0.5): Figure[] {
  const found = words.flatMap(([pattern, motif]) => {
    const at = pattern.exec(text)?.index;
    if (at === undefined) return [];
    const before =
      text
        .slice(0, at)
        .split(/,|\band\b|\bwith\b/)
        .at(-1) ?? "";
    return Array.from({ length: countIn(before) }, () => ({ motif, color: colorIn(before) ?? usual[motif] }));
  });
  const size = found.length === 1 ? 0.6 : Math.min(0.45, 0.9 / found.length);
  return found.slice(0, 20).map(({ motif, color }, i) => {
    const isHigh = found.length > 1 && (motif === "sun" || motif === "moon");
    return { motif, color, x: (i + 0.5) / found.length, y: isHigh ? 0.25 : middle, size };
  });
}

function countIn(text: string): number {
  const names = ["one", "two", "three", "four", "five", "six"];
  const [word] = /\b(one|two|three|four|five|six|[1-9])\b/.exec(text) ?? [];
  if (word === undefined) return 1;
  return names.includes(word) ? names.indexOf(word) + 1 : Number(word);
}

function colorIn(text: string): string | undefined {
  const name = Object.keys(colors).findLast((each) => new RegExp(`\\b${each}\\b`).test(text));
  return name && colors[name];
}

/** A drawing with what the text changes of it. */
function changed(drawing: Drawing, text: string): Drawing {
  const background = backgroundColor(text);
  if (background !== undefined) return { ...drawing, background };
  if (/\b(add|put)\b/.test(text)) return { ...drawing, figures: [...drawing.figures, ...added(text)] };
  const named = words.filter(([pattern]) => pattern.test(text)).map(([, motif]) => motif);
  const isMeant = ({ motif }: Figure): boolean => named.length === 0 || named.includes(motif);
  if (/\b(remove|without)\b/.test(text))
    return { ...drawing, figures: drawing.figures.filter((each) => !isMeant(each)) };
  return { ...drawing, figures: drawing.figures.map((figure) => (isMeant(figure) ? altered(figure, text) : figure)) };
}

/** Figures that are added are small, in the upper right. */
function added(text: string): Figure[] {
  return figuresIn(text).map((figure, i) => ({ ...figure, x: 0.8, y: Math.min(0.9, 0.2 + i * 0.25), size: 0.25 }));
}

function altered(figure: Figure, text: string): Figure {
  const factor = /\b(bigger|larger)\b/.test(text) ? 1.4 : /\bsmaller\b/.test(text) ? 0.6 : 1;
  const right = /\bright\b/.test(text) ? 0.2 : /\bleft\b/.test(text) ? -0.2 : 0;
  const down = /\bdown\b/.test(text) ? 0.2 : /\bup\b/.test(text) ? -0.2 : 0;
  return {
    ...figure,
    color: colorIn(text) ?? figure.color,
    size: Math.min(1, figure.size * factor),
    x: inside(figure.x + right),
    y: inside(figure.y + down),
  };
}

const inside = (place: number): number => Math.min(1, Math.max(0, place));
