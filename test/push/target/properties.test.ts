import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ForbiddenTarget, TargetGuard } from "../../../src/push/target/guard.js";
import { scaled } from "../../support/soak.js";
import { dotted, embedding, innerV4, innerV6, plainV6, publicV4, publicV6, writtenV4, writtenV6 } from "./addresses.js";

const guard = new TargetGuard({});
const refused = expect.objectContaining({ reason: "INVALID_PARAMS" });

/** Refused in a URL, and, where sockets take the same text for an address, refused there as well. */
function expectRefused(host: string, address: string): void {
  let thrown: unknown;
  try {
    guard.parse(`https://${host}/`);
  } catch (error) {
    thrown = error;
  }
  expect(thrown, host).toEqual(refused);
  expect(() => guard.judge(address, "hooks.example.com"), address).toThrow(ForbiddenTarget);
}

function expectAccepted(host: string, address: string): void {
  expect(guard.parse(`https://${host}/`).url.protocol, host).toBe("https:");
  guard.judge(address, "hooks.example.com");
}

const RUNS = { numRuns: scaled(200, 2_000) };

describe("any address", () => {
  it("of IPv4 in a forbidden network is refused in any spelling", () => {
    const written = innerV4.chain((bytes) => fc.tuple(fc.constant(bytes), writtenV4(bytes)));
    fc.assert(
      fc.property(written, ([bytes, host]) => expectRefused(host, dotted(bytes))),
      RUNS,
    );
  });

  it("of IPv6 with a forbidden one of IPv4 in it is refused in any spelling", () => {
    const written = innerV4.chain(embedding).chain((words) => fc.tuple(fc.constant(words), writtenV6(words)));
    fc.assert(
      fc.property(written, ([words, host]) => expectRefused(`[${host}]`, plainV6(words))),
      RUNS,
    );
  });

  it("of IPv6 in a forbidden network is refused in any spelling", () => {
    const written = innerV6.chain((words) => fc.tuple(fc.constant(words), writtenV6(words)));
    fc.assert(
      fc.property(written, ([words, host]) => expectRefused(`[${host}]`, plainV6(words))),
      RUNS,
    );
  });

  it("of IPv6 is refused with a zone", () => {
    fc.assert(
      fc.property(fc.oneof(innerV6, publicV6), fc.stringMatching(/^[a-z0-9]{1,8}$/), (words, zone) => {
        const address = `${plainV6(words)}%${zone}`;
        expectRefused(`[${address}]`, address);
        expectRefused(`[${address.replace("%", "%25")}]`, address);
      }),
    );
  });

  it("of the internet is accepted", () => {
    fc.assert(
      fc.property(publicV4, (bytes) => expectAccepted(dotted(bytes), dotted(bytes))),
      RUNS,
    );
    const mapped = publicV4.map((bytes) => `::ffff:${dotted(bytes)}`);
    fc.assert(fc.property(mapped, (address) => expectAccepted(`[${address}]`, address)));
    const written = publicV6.chain((words) => fc.tuple(fc.constant(words), writtenV6(words)));
    fc.assert(
      fc.property(written, ([words, host]) => expectAccepted(`[${host}]`, plainV6(words))),
      RUNS,
    );
  });
});

describe("any text", () => {
  it("is a target or is refused; nothing else happens, and the target's host is judged", () => {
    const text = fc.oneof(
      fc.string(),
      fc.webUrl({ withFragments: true, withQueryParameters: true }),
      fc
        .tuple(fc.constantFrom("https://", "http://", "HTTPS:\\\\"), fc.string({ unit: "binary" }))
        .map((each) => each.join("")),
    );
    fc.assert(
      fc.property(text, (url) => {
        try {
          const target = guard.parse(url);
          expect(target.url.protocol).toBe("https:");
          guard.admit(target.url.hostname);
        } catch (error) {
          expect(error).toEqual(refused);
        }
      }),
      RUNS,
    );
  });
});
