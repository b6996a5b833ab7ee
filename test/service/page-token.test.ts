import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { A2AError } from "../../src/core/error.js";
import { type Filters, pageToken, positionOf } from "../../src/service/page-token.js";

const filters = fc.record(
  {
    tenant: fc.string(),
    owner: fc.string(),
    contextId: fc.string(),
    state: fc.integer({ min: 1, max: 8 }),
    statusFrom: fc.nat(),
  },
  { requiredKeys: ["tenant", "owner"] },
) as fc.Arbitrary<Filters>;

const place = fc.record({ statusTime: fc.nat(), taskId: fc.string({ unit: "binary" }) });

/** Key of a list: tokens fit lists with an equal key. */
const key = (f: Filters) => JSON.stringify([f.tenant, f.owner, f.contextId ?? "", f.state ?? 0, f.statusFrom ?? 0]);

describe("a page token", () => {
  it("leads back to its place under the same filters", () => {
    fc.assert(
      fc.property(place, filters, (at, list) => {
        expect(positionOf(pageToken(at, list), { ...list })).toEqual(at);
      }),
    );
  });

  it("is refused under any other filters or caller (SRV-LIST-18)", () => {
    fc.assert(
      fc.property(place, filters, filters, (at, one, other) => {
        fc.pre(key(one) !== key(other));
        expect(() => positionOf(pageToken(at, one), other)).toThrow(/pageToken/);
      }),
    );
  });

  it("is refused with a validation error when it is anything else (SRV-LIST-13)", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.json().map((text) => Buffer.from(text).toString("base64url")),
        ),
        (token) => {
          try {
            positionOf(token, { tenant: "", owner: "" });
            expect.unreachable();
          } catch (error) {
            expect(error).toBeInstanceOf(A2AError);
            expect((error as A2AError).reason).toBe("INVALID_PARAMS");
          }
        },
      ),
    );
  });
});
