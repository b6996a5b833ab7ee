import { join } from "node:path";
import { expect, it } from "vitest";
import { root } from "../e2e/support/build.js";
import { programs } from "../store/postgres/server.js";
import { pythonWith } from "./support/python.js";
import { program } from "./support/site.js";
import { apt, hasApt, run, succeed } from "./support/tool.js";

/** The promise that the servers print. The clients' records are checked against it. */
const promises = {
  patroni: "An append survives the loss of one machine",
  "patroni-async": "An append survives a crash of the machine; a failover may lose the last seconds",
} as const;

const every = "failover,switchover,manager stopped,etcd stopped";

/** Each kind of fault once over both promises. A variable requests all faults for both. */
const faults: Readonly<Record<string, string>> =
  process.env.PARLEY_PATRONI === "all"
    ? { patroni: every, "patroni-async": every }
    : { patroni: "switchover,manager stopped", "patroni-async": "failover" };

it("keeps what the servers promise while Patroni changes the primary", { timeout: 300_000 }, async () => {
  if (programs() === undefined && hasApt()) await apt("postgresql");
  for (const [name, debian, version] of [
    ["nft", "nftables", "--version"],
    ["ip", "iproute2", "-V"],
    ["etcd", "etcd-server", "--version"],
    ["haproxy", "haproxy", "-v"],
    // For its dependencies only, because this version forgets its leader.
    ["patroni", "patroni", "--version"],
  ] as const) {
    await program(name, debian, version);
  }
  const python = await pythonWith("patroni-4.1.5", join(import.meta.dirname, "patroni", "requirements.txt"));
  const where = await succeed(python, ["-c", "import patroni; print(patroni.__path__[0])"]);
  // Both runs mostly wait.
  const ends = Object.entries(promises).map(async ([store, promise]) => {
    const env = {
      ...{ ...process.env, PARLEY_CHAOS_STORE: store, PARLEY_CHAOS_MINUTES: "once", PARLEY_CHAOS_SEED: "26" },
      ...{ PARLEY_CHAOS_FAULTS: faults[store], PARLEY_CHAOS_PATRONI: where.trim() },
    };
    const command = ["--import", "tsx", "test/chaos/run.ts"];
    const { stdout, stderr, code } = await run(process.execPath, command, { cwd: root, env, limitMs: 280_000 });
    expect(code, `${stdout}${stderr}`).toBe(0);
    expect(stdout).toContain(`The replicas say: ${promise}`);
    expect(stdout).toContain("Violations: 0");
  });
  await Promise.all(ends);
});
