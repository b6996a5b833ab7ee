import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { cover } from "../../support/cover.js";
import { type Case, cases } from "./cases.js";
import { openWorld, type World } from "./world.js";

const ways = [
  ["jsonrpc", "1.0"],
  ["rest", "1.0"],
  ["grpc", "1.0"],
  ["jsonrpc", "0.3"],
  ["rest", "0.3"],
  ["grpc", "0.3"],
] as const;

interface Row extends Case {
  readonly way: string;
  readonly more: readonly string[];
}

const rows = cases.flatMap((one): Row[] => {
  if (one.isBare === true) return [{ ...one, way: "no transport", more: [] }];
  return ways
    .filter(([, version]) => version === "1.0" || one.isOlder === true)
    .map(([transport, version]) => ({
      ...one,
      way: `${transport} ${version}`,
      more: ["-a", "AGENT", "--transport", transport, ...(version === "1.0" ? [] : ["--a2a-version", version])],
    }));
});

describe("the requirements of the A2A CLI specification", { timeout: 60_000 }, () => {
  let world: World;
  beforeAll(async () => {
    world = await openWorld();
  });
  afterAll(() => world.close());
  beforeEach(() => void world.seen.splice(0));

  // Each case once, and each area in each way.
  const chosen = cover(rows, ({ id, title, way }) => [title, `${id.replace(/_\d+$/, "")} ${way}`]);

  it.each(chosen)("A2ACLI_$id $title ($way)", async ({ argv, more, exit = 0, check, ...setup }) => {
    const outcome = await world.run([...argv, ...more, ...(more.length > 0 ? ["--poll-interval", "20ms"] : [])], setup);
    expect(outcome.exit, outcome.out + outcome.err).toBe(exit);
    check?.(outcome, world.seen);
  });
});
