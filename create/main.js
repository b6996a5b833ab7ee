#!/usr/bin/env node
// `npm create parley-a2a` is `parley init` of the same version, which has the templates.
import { fileURLToPath } from "node:url";

const main = new URL("dist/src/cli/main.js", import.meta.resolve("parley-a2a/package.json"));
process.argv.splice(1, 1, fileURLToPath(main), "init");
await import(main.href);
