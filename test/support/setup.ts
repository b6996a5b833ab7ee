import { afterAll } from "vitest";
import { forgetCards } from "./cards.js";
import { restoreConstants } from "./constants.js";

// Run for each file of tests, which share the modules of the sources.
afterAll(restoreConstants);
afterAll(forgetCards);
