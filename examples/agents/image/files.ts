import { createHash } from "node:crypto";
import { convertIndexedToRgb, decode, encode } from "fast-png";
import { AgentError } from "parley-a2a";
import { Drawing } from "./drawing.js";
import { drawUpon, emptyRaster, type Raster } from "./raster.js";
import { figureShapes, type Shape, shapesOf } from "./shapes.js";

/** A picture that is edited: a drawing of this agent, or any other picture, which is drawn upon. */
export type Source = { readonly drawing: Drawing } | { readonly picture: Raster };

/** Media types of the formats. */
export const mediaTypes = { png: "image/png", svg: "image/svg+xml" } as const;

/** Format of a file. */
export type Format = keyof typeof mediaTypes;

/** Returns the id of a picture, which depends on its content only: 32 hexadecimal digits. */
export function idOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex").slice(0, 32);
}

/** Pixels of each side of a new picture. */
const SIDE = 256;
/** Pixels of each side of a picture that is drawn upon, at most. */
const MAX_SIDE = 1024;

/** The picture as a file. `upon` is the picture that it is drawn upon, instead of a background. */
export function fileOf(drawing: Drawing, format: Format, upon?: Raster): Uint8Array {
  return format === "svg" ? svgOf(drawing, upon) : pngOf(drawing, upon);
}

function pngOf(drawing: Drawing, upon?: Raster): Uint8Array {
  if (upon !== undefined) return encode(drawUpon({ ...upon, data: upon.data.slice() }, figureShapes(drawing.figures)));
  // PNG keeps texts in Latin-1.
  const text = JSON.stringify(drawing).replace(/[^\x20-\x7e]/g, (char) => `\\u${hex(char)}`);
  return encode({ ...drawUpon(emptyRaster(SIDE, SIDE), shapesOf(drawing)), text: { drawing: text } });
}

const hex = (char: string): string => char.charCodeAt(0).toString(16).padStart(4, "0");

function svgOf(drawing: Drawing, upon?: Raster): Uint8Array {
  const { width, height } = upon ?? { width: SIDE, height: SIDE };
  const polygon = ({ color, points }: Shape): string => {
    const places = points.map(([x, y]) => `${round(x * width)},${round(y * height)}`);
    return `<polygon fill="${color}" points="${places.join(" ")}"/>`;
  };
  const shapes = (upon === undefined ? shapesOf(drawing) : figureShapes(drawing.figures)).map(polygon);
  const below =
    upon === undefined
      ? `<metadata>${escaped(JSON.stringify(drawing))}</metadata>`
      : `<image width="${width}" height="${height}" href="data:image/png;base64,${Buffer.from(encode(upon)).toString("base64")}"/>`;
  const head = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}">`;
  return Buffer.from([head, `<title>${escaped(drawing.title)}</title>`, below, ...shapes, "</svg>\n"].join("\n"));
}

const round = (number: number): number => Math.round(number * 100) / 100;

const entities: readonly (readonly [string, string])[] = [
  ["&", "&amp;"],
  ["<", "&lt;"],
  [">", "&gt;"],
];
const escaped = (text: string): string => entities.reduce((all, [char, name]) => all.replaceAll(char, name), text);
const unescaped = (text: string): string =>
  entities.reduceRight((all, [char, name]) => all.replaceAll(name, char), text);

/** Reads a picture: any PNG, or an SVG that this agent made. */
export function sourceIn(bytes: Uint8Array): Source {
  if (bytes[0] !== 0x89) return { drawing: drawingIn(svgText(bytes)) };
  checkSize(bytes);
  const png = readPng(bytes);
  const kept = png.text.drawing;
  return kept === undefined ? { picture: rgba(png) } : { drawing: drawingIn(kept) };
}

function svgText(bytes: Uint8Array): string {
  const text = /<metadata>(.*)<\/metadata>/.exec(Buffer.from(bytes).toString())?.[1];
  if (text === undefined) throw new AgentError("I can edit PNG files, and the SVG files that I made.");
  return unescaped(text);
}

function drawingIn(text: string): Drawing {
  try {
    return Drawing.parse(JSON.parse(text));
  } catch {
    throw new AgentError("The drawing in this file cannot be read.");
  }
}

/** Checks width and height before anything is unpacked. */
function checkSize(bytes: Uint8Array): void {
  const { buffer, byteOffset, length } = bytes;
  if (length < 24) throw new AgentError("This is not a PNG file.");
  const view = new DataView(buffer, byteOffset, length);
  if (view.getUint32(16) <= MAX_SIDE && view.getUint32(20) <= MAX_SIDE) return;
  throw new AgentError(`A picture may have ${MAX_SIDE} pixels on each side.`);
}

type Png = ReturnType<typeof decode>;

function readPng(bytes: Uint8Array): Png {
  try {
    return decode(bytes);
  } catch {
    throw new AgentError("This PNG file cannot be read.");
  }
}

/** Any kind of PNG as red, green, blue and opacity. */
function rgba(png: Png): Raster {
  const { width, height, channels, depth, palette } = png;
  if (depth < 8 && palette === undefined)
    throw new AgentError("Pictures with less than 8 bits for a gray are not read.");
  const raster = emptyRaster(width, height);
  const { data } = raster;
  const pixels = palette === undefined ? png.data : convertIndexedToRgb(png);
  const count = palette === undefined ? channels : (palette[0]?.length ?? 3);
  const byte = (at: number): number => (pixels[at] ?? 0) >> (depth === 16 ? 8 : 0);
  for (let i = 0; i < width * height; i++) {
    const from = i * count;
    for (let c = 0; c < 3; c++) data[i * 4 + c] = byte(from + (count < 3 ? 0 : c));
    data[i * 4 + 3] = count % 2 === 0 ? byte(from + count - 1) : 255;
  }
  return raster;
}
