import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { eventsIn, eventsOf } from "../../tools/picture/draw.js";
import { recordStream } from "../../tools/picture/record.js";
import { build, root } from "./support/build.js";

it("docs/stream.svg shows the events of a stream that is killed and resumed now", { timeout: 120_000 }, async () => {
  build();
  const shown = eventsIn(readFileSync(join(root, "docs/stream.svg"), "utf8"));
  const recording = await recordStream(5);
  expect(recording.before.length).toBe(5);
  expect(eventsOf(recording)).toEqual(shown);
});
