import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type AuditFacts, auditOf } from "../../src/audit/audit.js";
import { customScheme } from "../../src/auth/custom.js";
import { type Guard, Guards } from "../../src/auth/guard.js";
import { Refusal } from "../../src/auth/scheme.js";
import { failedAttempts } from "../../src/auth/throttle.js";
import { Call } from "../../src/core/call.js";
import { A2AError } from "../../src/core/error.js";
import { defaultLimits } from "../../src/core/limits.js";
import { silentLogger } from "../../src/core/log.js";
import { setConstantsOfFile } from "../support/constants.js";
import { scaled } from "../support/soak.js";

setConstantsOfFile(failedAttempts, { intervalMs: 60_000 });

const names = ["key", "basic", "bearer"] as const;
type Name = (typeof names)[number];
type Shown = "good" | "wrong" | "absent" | "no scope";

/** A call with credentials of several schemes. */
function callWith(shown: Record<Name, Shown>): Call {
  return new Call({
    binding: "test",
    header: (name) => (shown[name as Name] === "absent" ? undefined : shown[name as Name]),
    peer: { address: "192.0.2.1", encrypted: true },
    signal: new AbortController().signal,
  });
}

interface World {
  readonly guard: Guard;
  /** Schemes whose wrong credentials were checked. */
  readonly guessed: Set<Name>;
  readonly audited: AuditFacts[];
}

/** A guard with alternative requirements, each of one or more schemes. The schemes in `slow` answer asynchronously. */
function worldOf(require: readonly (readonly Name[])[], slow: readonly Name[]): World {
  const guessed = new Set<Name>();
  const audited: AuditFacts[] = [];
  const schemeOf = (name: Name) =>
    customScheme({
      card: { apiKeySecurityScheme: { location: "header", name } },
      challenge: { scheme: name },
      authenticate: (call) => {
        const shown = call.header(name);
        if (shown === "wrong") guessed.add(name);
        const scopes = shown === "good" ? ["s"] : [];
        const found =
          shown === undefined ? undefined : shown === "wrong" ? new Refusal("wrong") : { owner: name, scopes };
        return slow.includes(name) ? Promise.resolve(found) : found;
      },
    });
  const schemes = Object.fromEntries(names.map((name) => [name, schemeOf(name)]));
  const requirements = require.map((all) => Object.fromEntries(all.map((name) => [name, ["s"]])));
  const limits = { ...defaultLimits, maxFailedAttempts: 1 };
  const guards = new Guards({ limits, logger: silentLogger }, { record: (facts) => audited.push(facts) });
  return { guard: guards.ofAgent({ schemes, require: requirements }, () => ""), guessed, audited };
}

/** The caller of an admitted call, or the error of a refused one. */
const endOf = async (guard: Guard, call: Call): Promise<unknown> => {
  try {
    return await guard.admit(call);
  } catch (error) {
    return error;
  }
};

describe("Guard.admit() of a call with credentials of several schemes", () => {
  const shown = fc.constantFrom<Shown>("good", "wrong", "absent", "no scope");
  const all = fc.record({ key: shown, basic: shown, bearer: shown });
  const alternatives = fc.array(fc.uniqueArray(fc.constantFrom(...names), { minLength: 1 }), {
    minLength: 1,
    maxLength: 4,
  });

  it("counts and audits each call whose wrong credentials were checked, whatever else it shows", async () => {
    await fc.assert(
      fc.asyncProperty(alternatives, all, fc.subarray([...names]), async (require, shows, slow) => {
        const { guard, guessed, audited } = worldOf(require, slow);
        const end = await endOf(guard, callWith(shows));
        if (!(end instanceof A2AError)) expect(end).toMatchObject({ owner: expect.any(String) });
        const next = await endOf(guard, callWith({ key: "absent", basic: "absent", bearer: "absent" }));
        const waits = next instanceof A2AError && next.reason === "TOO_MANY_REQUESTS";
        expect(waits).toBe(guessed.size > 0);
        if (guessed.size === 0) return;
        const note = end instanceof A2AError ? auditOf(end) : undefined;
        const records = note?.event === "authentication.failed" ? [note, ...audited] : audited;
        expect(records).toHaveLength(1);
        expect(records[0]).toMatchObject({ event: "authentication.failed", reason: "refused" });
        expect(guessed).toContain(records[0]?.scheme);
      }),
      { numRuns: scaled(150, 500) },
    );
  });

  it("stops a caller with a good key from guessing the password of another", async () => {
    const { guard, guessed, audited } = worldOf([["basic"], ["key"]], []);
    const guess = () => endOf(guard, callWith({ key: "good", basic: "wrong", bearer: "absent" }));
    expect(await guess()).toMatchObject({ owner: "key" });
    guessed.clear();
    for (let i = 0; i < 20; i++) expect(await guess()).toMatchObject({ reason: "TOO_MANY_REQUESTS" });
    expect(guessed.size).toBe(0);
    expect(audited).toMatchObject([{ scheme: "basic", address: "192.0.2.1" }]);
  });
});
