import { setFlagsFromString } from "node:v8";
import { afterAll, afterEach } from "vitest";
import { forgetCards } from "./cards.js";
import { cleanUp } from "./clean-up.js";
import { restoreConstants } from "./constants.js";

// The V8 of Node.js 20 optimizes a function after it has run 132 KB of its code. Its compiler then takes a fifteenth of the tests'
// CPU time, for functions that most workers call too seldom afterwards. Later versions wait longer, and have no such flag.
if (process.versions.v8.startsWith("11.")) setFlagsFromString("--interrupt-budget=1000000");

// Run for each file of tests, which share the modules of the sources.
afterAll(restoreConstants);
afterAll(forgetCards);
afterEach(cleanUp);
