import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));
const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { scripts: Record<string, string> };

/** Programs of Node.js, of the first install and of git; `exec` is one of every POSIX shell, and `prestart` writes one for Windows. */
const programs = new Set(["node", "npm", "tsc", "vitest", "git", "exec"]);

describe("the scripts of package.json", () => {
  it.each(Object.entries(scripts))("%s is understood by cmd.exe and by sh", (_name, script) => {
    // Quotes, variables, globs, pipes and lists mean different things there, or nothing.
    expect(script).not.toMatch(/['"$`;|<>*\\]|[^&]&[^&]/);
    for (const command of script.split(" && ")) expect(programs).toContain(command.split(" ")[0]);
  });

  it("start takes the shell's place, so that a signal to npm reaches the server, also where a shell has no exec", () => {
    expect(scripts.start).toMatch(/^exec node /);
    expect(scripts.prestart).toMatch(/^node tools\/exec\.mjs && /);
  });
});
