import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const app = fileURLToPath(new URL("../../examples/frameworks/next", import.meta.url));

it("the app of Next.js imports nothing from outside itself but packages", () => {
  const files = readdirSync(app, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".ts"));
  const imports = files.flatMap((file) => {
    const text = readFileSync(join(app, file), "utf8");
    const names = [...text.matchAll(/from "(\.[^"]*)"/g)].map(([, name = ""]) => name);
    return names.map((name) => relative(app, resolve(app, dirname(file), name)));
  });
  expect(imports.length).toBeGreaterThan(2);
  expect(imports.filter((path) => path.startsWith(".."))).toEqual([]);
});
