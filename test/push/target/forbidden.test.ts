import { describe, expect, it } from "vitest";
import { ForbiddenTarget, TargetGuard } from "../../../src/push/target/guard.js";
import { forbidden, spellings } from "./forbidden.js";

/** A guard with every option open; only inner addresses are forbidden. */
const guard = new TargetGuard({
  allowHttp: true,
  lookup: (host) => Promise.reject(new Error(`${host} was looked up`)),
});

const table = [...Object.entries(spellings), ...Object.entries(forbidden)].flatMap(([what, hosts]) =>
  hosts.map((host): [string, string] => [what, host]),
);

describe("hosts that must not be reached", () => {
  it("are at least 300 spellings, none of them twice", () => {
    expect(new Set(table.map(([, host]) => host)).size).toBe(table.length);
    expect(table.length).toBeGreaterThanOrEqual(300);
  });

  it.each(table)("%s: %s", async (_, host) => {
    const refused = { reason: "INVALID_PARAMS", violations: [{ field: "url" }] };
    await expect(guard.check(`https://${host}/hook`)).rejects.toMatchObject(refused);
    await expect(guard.check(`http://${host}:80/hook`)).rejects.toMatchObject(refused);
  });

  // The guard judges hosts by itself, because sockets reach it without the rule for URLs.
  it.each(table.filter(([, host]) => URL.canParse(`https://${host}/`)))(
    "%s: %s, as a URL has it in the end",
    (_, host) => {
      const { hostname } = new URL(`https://${host}/`);
      expect(() => guard.admit(hostname.replace(/\.$/, ""))).toThrow(ForbiddenTarget);
    },
  );
});
