import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { nearest, unknownNames } from "../../src/core/options.js";

const known = ["description", "securitySchemes", "defaultInputModes", "retention", "port", "host"];

/** A name with an added, missing or replaced letter. */
const slipped = (name: string): fc.Arbitrary<string> =>
  fc
    .tuple(fc.nat(name.length - 1), fc.constantFrom("put in", "left out", "exchanged"))
    .map(
      ([at, how]) => name.slice(0, at) + (how === "left out" ? "" : "~") + name.slice(how === "put in" ? at : at + 1),
    );

describe("nearest()", () => {
  it("finds a name behind one or two slips", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...known).chain((name) => slipped(name).map((slip) => [name, slip] as const)),
        ([name, slip]) => nearest(slip, known) === name,
      ),
    );
    const long = known.filter((name) => name.length > 6);
    fc.assert(
      fc.property(
        fc.constantFrom(...long).chain((name) =>
          slipped(name)
            .chain(slipped)
            .map((slip) => [name, slip] as const),
        ),
        ([name, slip]) => nearest(slip, known) === name,
      ),
    );
  });

  it("does not mind case, and finds nothing where nothing is near", () => {
    expect(nearest("PORT", known)).toBe("port");
    expect(["x", "pq", "authenticator", ""].map((name) => nearest(name, known))).toEqual(Array(4).fill(undefined));
    expect(nearest("x", [])).toBeUndefined();
  });
});

describe("unknownNames()", () => {
  it("says what is not known, and what may be meant", () => {
    expect(unknownNames("card.", ["host", "descripton", "zzz"], known)).toEqual([
      "card.descripton is not known: did you mean description?",
      "card.zzz is not known",
    ]);
  });
});
