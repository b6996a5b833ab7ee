import type { Drawing, Figure } from "./drawing.js";

/** Points with x and y from 0 to 1, filled with a color such as `#ff0000`. */
export interface Shape {
  readonly color: string;
  readonly points: readonly Point[];
}

type Point = readonly [x: number, y: number];

/** The shapes of a drawing, from back to front. */
export function shapesOf({ scene, background, figures }: Drawing): Shape[] {
  const back = [{ color: background, points: box(0, 0, 1, 1) }];
  if (scene === "sea") back.push({ color: "#2a6fb0", points: box(0, 0.62, 1, 1) });
  if (scene === "land") back.push({ color: "#5fa04e", points: box(0, 0.7, 1, 1) });
  return [...back, ...figureShapes(figures)];
}

/** The shapes of figures alone, such as those that are drawn upon another picture. */
export function figureShapes(figures: readonly Figure[]): Shape[] {
  return figures.flatMap(({ motif, color, x, y, size }) =>
    outlines[motif](color).map((shape) => ({
      color: shape.color,
      points: shape.points.map(([px, py]): Point => [x + (px - 0.5) * size, y + (py - 0.5) * size]),
    })),
  );
}

/** Each motif in a square from 0 to 1. */
const outlines: Readonly<Record<Figure["motif"], (color: string) => Shape[]>> = {
  circle: (color) => [{ color, points: disc(0.5, 0.5, 0.5) }],
  square: (color) => [{ color, points: box(0, 0, 1, 1) }],
  triangle: (color) => [
    {
      color,
      points: [
        [0.5, 0],
        [1, 1],
        [0, 1],
      ],
    },
  ],
  star: (color) => [{ color, points: spikes(5, 0.2) }],
  heart: (color) => [{ color, points: heart() }],
  sun: (color) => [{ color, points: spikes(12, 0.36) }],
  moon: (color) => [{ color, points: crescent() }],
  house: (color) => [
    { color, points: box(0.1, 0.45, 0.9, 1) },
    {
      color: "#7a3b2e",
      points: [
        [0.5, 0],
        [1, 0.45],
        [0, 0.45],
      ],
    },
    { color: "#4a3120", points: box(0.42, 0.66, 0.58, 1) },
  ],
  tree: (color) => [
    { color: "#6b4a2b", points: box(0.42, 0.7, 0.58, 1) },
    {
      color,
      points: [
        [0.5, 0],
        [0.95, 0.75],
        [0.05, 0.75],
      ],
    },
  ],
  sailboat: (color) => [
    { color: "#4a3120", points: box(0.47, 0.02, 0.5, 0.74) },
    {
      color: "#f4f1e8",
      points: [
        [0.53, 0.05],
        [0.95, 0.66],
        [0.53, 0.66],
      ],
    },
    {
      color,
      points: [
        [0.44, 0.18],
        [0.44, 0.66],
        [0.1, 0.66],
      ],
    },
    {
      color,
      points: [
        [0, 0.74],
        [1, 0.74],
        [0.8, 1],
        [0.2, 1],
      ],
    },
  ],
};

function box(left: number, top: number, right: number, bottom: number): Point[] {
  return [
    [left, top],
    [right, top],
    [right, bottom],
    [left, bottom],
  ];
}

function disc(x: number, y: number, radius: number, points = 64): Point[] {
  return turned(points, () => radius).map(([px, py]): Point => [x + px, y + py]);
}

/** Spikes around the middle, with an inner radius. */
function spikes(count: number, inner: number): Point[] {
  return turned(count * 2, (i) => (i % 2 === 0 ? 0.5 : inner)).map(([x, y]): Point => [x + 0.5, y + 0.5]);
}

/** Points around zero, from the top on. */
function turned(count: number, radius: (i: number) => number): Point[] {
  return Array.from({ length: count }, (_, i): Point => {
    const angle = (i / count) * 2 * Math.PI - Math.PI / 2;
    return [Math.cos(angle) * radius(i), Math.sin(angle) * radius(i)];
  });
}

function heart(): Point[] {
  return Array.from({ length: 64 }, (_, i): Point => {
    const t = (i / 64) * 2 * Math.PI;
    const y = 13 * Math.cos(t) - 5 * Math.cos(2 * t) - 2 * Math.cos(3 * t) - Math.cos(4 * t);
    return [0.5 + (16 * Math.sin(t) ** 3) / 34, 0.45 - y / 32];
  });
}

function crescent(): Point[] {
  const outer = disc(0.5, 0.5, 0.5).slice(0, 33);
  // Back to the top along a flatter curve.
  const inner = outer.map(([x, y]): Point => [0.5 + (x - 0.5) * 0.45, y]).reverse();
  return [...outer, ...inner];
}
