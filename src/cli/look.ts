import type { OutputStream } from "./io.js";

/** Colours, as SGR codes. */
const colours = { red: "31", green: "32", yellow: "33", magenta: "35", cyan: "36", dim: "2", bold: "1" } as const;

export type Colour = keyof typeof colours;

export interface Look {
  /** Width of the terminal; undefined in a pipe, where nothing is cut. */
  readonly width: number | undefined;
  readonly colour: boolean;
}

export function lookOf(output: OutputStream): Look {
  const width = output.isTTY === true ? (output.columns ?? 80) : undefined;
  return { width, colour: output.isTTY === true && output.hasColors?.() === true };
}

/** Cuts a line to the width of the terminal. */
export function clipped(text: string, { width }: Look): string {
  return cut(text, width ?? Number.POSITIVE_INFINITY);
}

export function paint(text: string, colour: Colour | undefined, look: Pick<Look, "colour">): string {
  return colour === undefined || !look.colour || text === "" ? text : `\x1b[${colours[colour]}m${text}\x1b[0m`;
}

const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u;

/** Number of columns that a text takes on a terminal. */
export function widthOf(text: string): number {
  // Most texts are ASCII.
  if (/^[ -~]*$/.test(text)) return text.length;
  let width = 0;
  for (const character of text) width += /\p{M}/u.test(character) ? 0 : wide.test(character) ? 2 : 1;
  return width;
}

/** Cuts a text to a width, with an ellipsis in place of the omitted rest. */
export function cut(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  let kept = "";
  let used = 1;
  for (const character of text) {
    const more = widthOf(character);
    if (used + more > width) break;
    kept += character;
    used += more;
  }
  return width < 1 ? "" : `${kept}…`;
}
