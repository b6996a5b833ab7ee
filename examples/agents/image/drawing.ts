import { z } from "zod";

/** Motifs that the agent can draw. */
export const motifs = [
  "circle",
  "square",
  "triangle",
  "star",
  "heart",
  "sun",
  "moon",
  "house",
  "tree",
  "sailboat",
] as const;

const color = z.string().regex(/^#[0-9a-f]{6}$/i, "a color such as #ff0000");
const place = z.number().min(0).max(1);

/** A drawing as a model describes it. Every file contains its drawing, so that a later edit can start from it. */
export const Drawing = z.object({
  title: z.string().min(1).max(60).describe("What is to be seen, in a few words."),
  scene: z.enum(["plain", "sea", "land"]).describe("sea and land have water or grass in the lower part."),
  background: color.describe("The color of the background, or of the sky."),
  figures: z
    .array(
      z.object({
        motif: z.enum(motifs),
        color,
        x: place.describe("Middle of the figure: 0 is left, 1 is right."),
        y: place.describe("Middle of the figure: 0 is the top, 1 is the bottom."),
        size: z.number().min(0.02).max(1).describe("Width and height, as a share of the picture."),
      }),
    )
    .max(40)
    .describe("From back to front."),
});

export type Drawing = z.infer<typeof Drawing>;
export type Figure = Drawing["figures"][number];
