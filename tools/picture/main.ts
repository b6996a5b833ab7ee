/** Makes docs/stream.svg of a run of the built command line: `npm run build && node --import tsx tools/picture/main.ts`. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { draw } from "./draw.js";
import { recordStream } from "./record.js";

const KILL_AFTER = 5;

writeFileSync(join(import.meta.dirname, "../../docs/stream.svg"), draw(await recordStream(KILL_AFTER)));
