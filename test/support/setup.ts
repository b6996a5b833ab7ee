import { afterAll } from "vitest";
import { restoreConstants } from "./constants.js";

// Runs for each file of tests, which share the modules of the sources.
afterAll(restoreConstants);
