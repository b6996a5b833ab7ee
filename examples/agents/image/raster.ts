import type { Shape } from "./shapes.js";

/** A picture of pixels: red, green, blue and opacity, a byte each, row by row. */
export interface Raster {
  readonly width: number;
  readonly height: number;
  readonly data: Uint8Array;
}

/** Lines that each row of pixels is cut into, so that edges are smooth. */
const LINES = 4;

/** Draws shapes upon a picture, which is changed. */
export function drawUpon(raster: Raster, shapes: readonly Shape[]): Raster {
  for (const shape of shapes) fill(raster, shape);
  return raster;
}

/** A transparent picture. */
export function emptyRaster(width: number, height: number): Raster {
  return { width, height, data: new Uint8Array(width * height * 4) };
}

function fill(raster: Raster, { color, points }: Shape): void {
  const { width, height } = raster;
  const placed = points.map(([x, y]): [number, number] => [x * width, y * height]);
  const ys = placed.map(([, y]) => y);
  const last = Math.min(height - 1, Math.floor(Math.max(...ys)));
  const coverage = new Float32Array(width);
  for (let row = Math.max(0, Math.floor(Math.min(...ys))); row <= last; row++) {
    coverage.fill(0);
    for (let line = 0; line < LINES; line++) {
      const crossings = crossingsAt(row + (line + 0.5) / LINES, placed);
      for (let i = 0; i + 1 < crossings.length; i += 2) cover(coverage, crossings[i] ?? 0, crossings[i + 1] ?? 0);
    }
    paint(raster, row, coverage, rgbOf(color));
  }
}

/** Where a horizontal line crosses the edges of a shape, from left to right. */
function crossingsAt(y: number, points: readonly (readonly [number, number])[]): number[] {
  const found: number[] = [];
  points.forEach(([x1, y1], i) => {
    const [x2, y2] = points[(i + 1) % points.length] ?? [x1, y1];
    if (y1 <= y !== y2 <= y) found.push(x1 + ((y - y1) / (y2 - y1)) * (x2 - x1));
  });
  return found.sort((a, b) => a - b);
}

/** Adds a line's share of each pixel between two places. */
function cover(coverage: Float32Array, from: number, to: number): void {
  const last = Math.min(coverage.length - 1, Math.floor(to));
  for (let x = Math.max(0, Math.floor(from)); x <= last; x++) {
    const share = Math.min(to, x + 1) - Math.max(from, x);
    if (share > 0) coverage[x] = (coverage[x] ?? 0) + share / LINES;
  }
}

function paint({ width, data }: Raster, row: number, coverage: Float32Array, rgb: readonly number[]): void {
  coverage.forEach((share, x) => {
    if (share <= 0) return;
    const at = (row * width + x) * 4;
    const kept = ((data[at + 3] ?? 0) / 255) * (1 - share);
    const opacity = share + kept;
    for (let i = 0; i < 3; i++)
      data[at + i] = Math.round(((rgb[i] ?? 0) * share + (data[at + i] ?? 0) * kept) / opacity);
    data[at + 3] = Math.round(opacity * 255);
  });
}

function rgbOf(color: string): number[] {
  return [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16));
}
