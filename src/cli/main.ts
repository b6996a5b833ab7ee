#!/usr/bin/env node
// Nothing is imported before the version is checked, so that an older Node.js prints one line and no stack trace.
const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);

if (major < 20 || (major === 20 && minor < 19)) {
  process.stderr.write(`parley: Node.js 20.19 or later is needed, and this is ${process.versions.node}.\n`);
  process.exitCode = 2;
} else {
  // V8 doubles the young generation whenever many objects survive a collection, and never shrinks it. Almost all
  // objects of a server's start survive, so it would grow to 8 MB although 2 MB are used. `serve` lets it grow again
  // before it loads the agent's module. V8 prints a line for unknown flags, hence the version check.
  const isServer = ["serve", "dev"].includes(process.argv[2] ?? "");
  if (major <= 26 && isServer) process.getBuiltinModule("node:v8").setFlagsFromString("--semi-space-growth-factor=1");
  import("./command.js").catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EMFILE" && error.code !== "ENFILE") throw error;
    process.stderr.write(
      "parley: the limit of open files is too low to start: allow 1024 at least (ulimit -n 1024).\n",
    );
    process.exitCode = 2;
  });
}

export {};
