#!/usr/bin/env node
// Nothing is imported before the version is checked, so that an older Node.js prints one line and no stack trace.
const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);

if (major < 20 || (major === 20 && minor < 19)) {
  process.stderr.write(`parley: Node.js 20.19 or later is needed, and this is ${process.versions.node}.\n`);
  process.exitCode = 2;
} else {
  import("./command.js");
}

export {};
