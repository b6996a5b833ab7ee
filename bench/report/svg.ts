/** Parts of the charts in plain SVG, readable on a light and on a dark page. */

/** Series by turns. Their colours have enough contrast to white and to black; lines differ in their dashes as well. */
export const SERIES = ["a", "b", "c", "d"] as const;

const STYLE = `
  text { font: 12px system-ui, sans-serif; fill: #59636e; }
  .title { font-size: 14px; font-weight: 600; }
  .axis { stroke: #8c959f; stroke-width: 1; }
  .grid { stroke: #8c959f; stroke-width: 1; opacity: .25; }
  .base { stroke: #8c959f; stroke-width: 1.5; }
  .goal { stroke: #d1442f; stroke-width: 2; }
  .line { fill: none; stroke-width: 2; }
  .a { stroke: #2f81d8; } .b { stroke: #2da06a; } .c { stroke: #8c959f; } .d { stroke: #b07a10; }
  .fa { fill: #2f81d8; } .fb { fill: #2da06a; } .fc { fill: #8c959f; } .fd { fill: #b07a10; }
  .b.line { stroke-dasharray: 7 3; } .c.line { stroke-dasharray: 2 3; } .d.line { stroke-dasharray: 9 3 2 3; }
  @media (prefers-color-scheme: dark) { text { fill: #a0aab4; } .goal { stroke: #f0705c; } }
`;

const ENTITIES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

export const escaped = (text: string): string => text.replace(/[&<>"]/g, (one) => ENTITIES[one] ?? one);

/** A coordinate: a tenth of a pixel is enough, and the same everywhere. */
export const at = (value: number): string => value.toFixed(1);

export function text(
  x: number,
  y: number,
  value: string,
  anchor: "start" | "middle" | "end" = "start",
  kind = "",
): string {
  const classes = kind === "" ? "" : ` class="${kind}"`;
  return `<text x="${at(x)}" y="${at(y)}" text-anchor="${anchor}"${classes}>${escaped(value)}</text>`;
}

export function line(x1: number, y1: number, x2: number, y2: number, kind: string): string {
  return `<line x1="${at(x1)}" y1="${at(y1)}" x2="${at(x2)}" y2="${at(y2)}" class="${kind}"/>`;
}

/** Returns a whole picture, with a description for screen readers. */
export function picture(
  width: number,
  height: number,
  title: string,
  description: string,
  body: readonly string[],
): string {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-labelledby="title desc">`,
    `<title id="title">${escaped(title)}</title>`,
    `<desc id="desc">${escaped(description)}</desc>`,
    `<style>${STYLE}</style>`,
    text(12, 20, title, "start", "title"),
    ...body,
    "</svg>",
    "",
  ].join("\n");
}

/** A number for people: 0.48, 12.5, 1,000, 100,000. */
export function figure(value: number): string {
  const digits = value >= 100 || Number.isInteger(value) ? 0 : value >= 10 ? 1 : 2;
  return value.toLocaleString("en", { maximumFractionDigits: digits, minimumFractionDigits: digits });
}
