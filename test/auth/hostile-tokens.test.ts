import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { jwtScheme } from "../../src/auth/index.js";
import { everyNth } from "../support/cover.js";
import type { Driver } from "../support/driver.js";
import {
  b64,
  claiming,
  claims,
  crafted,
  es256,
  es256Der,
  fixed,
  goodHeader,
  headed,
  hs256,
  issuer,
  keySet,
  later,
  publicPem,
  rs256,
  stranger,
} from "./crafted.js";
import { everyBinding, type SecuredWorld, say, securedAgent, titleOf } from "./world.js";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

/** Serves the keys that hostile tokens point to. The server under test must never request them. */
const theirs = createServer((_request, response) => {
  asked++;
  response.end(JSON.stringify({ keys: [{ ...strangerJwk, kid: "theirs", alg: "ES256" }] }));
});
let asked = 0;
const strangerJwk = stranger.publicKey.export({ format: "jwk" });
const byStranger = es256(stranger.privateKey);
const there = (): string => `http://127.0.0.1:${(theirs.address() as AddressInfo).port}/jwks`;

/** Subjects that are not valid names of owners. The tokens are valid, but their callers are refused. */
const nobody: Record<string, string> = {
  "a null character": '"ali\\u0000ce"',
  "a line": '"alice\\n"',
  "a command for terminals": '"\\u001b[2Jalice"',
  "a delete character": '"ali\\u007fce"',
  "a C1 character": '"ali\\u009bce"',
  "half a character": '"\\ud800"',
  "2,000 letters": `"${"a".repeat(2_000)}"`,
};

/** Tokens that are accepted, with their owners. All other tokens are refused. */
const good: Record<string, readonly [owner: string, token: () => string]> = {
  "as it should be": ["alice", () => headed({})],
  "signed by RSA": ["alice", () => headed({ alg: "RS256", kid: "rsa" }, rs256)],
  "without a kid, where one key fits": ["alice", () => crafted({ alg: "ES256" }, claims())],
  "whose time has a fraction": ["alice", () => claiming({ exp: `${later()}.5`, nbf: "0.5" })],
  "that began before 1970": ["alice", () => claiming({ nbf: "-1" })],
  "that ends in another age": ["alice", () => claiming({ exp: "1e300" })],
  "for several audiences, one of them odd": ["alice", () => claiming({ aud: '[{}, 7, "agents"]' })],
  "with the padding of base64": ["alice", () => `${headed({})}==`],
  // The last of two claims with the same name counts, unless duplicates are refused (RFC 7519, 4).
  "with two subjects": [
    "mallory",
    () => crafted(goodHeader, claims().replace("{", '{"sub":"x",').replace("alice", "mallory")),
  ],
  "of an owner that is a name in JavaScript": ["__proto__", () => claiming({ sub: '"__proto__"' })],
  "with a claim that is a name in JavaScript": ["alice", () => claiming({ __proto__x: "1", constructor: '"x"' })],
};

const bad: Record<string, () => string> = {
  "alg none": () => headed({ alg: "none" }, fixed()),
  "alg none in other letters": () => headed({ alg: "nOnE" }, fixed()),
  "alg none with a signature": () => headed({ alg: "none" }),
  "alg empty": () => headed({ alg: "" }),
  "no alg": () => crafted({ kid: "ec" }, claims()),
  "a list of algs": () => headed({ alg: ["ES256"] }),
  "alg in small letters": () => headed({ alg: "es256" }),
  "alg with a space": () => headed({ alg: "ES256 " }),
  "alg twice, the last one none": () => crafted('{"alg":"ES256","kid":"ec","alg":"none"}', claims(), fixed()),
  "alg of another kind of key": () => headed({ alg: "RS256" }),
  "alg of another key's kid": () => headed({ kid: "rsa" }),
  "alg of another hash": () => headed({ alg: "ES384" }),
  "HS256 with the public key": () => headed({ alg: "HS256", kid: "rsa" }, hs256(publicPem)),
  "HS256 with the public key, trimmed": () => headed({ alg: "HS256", kid: "rsa" }, hs256(publicPem.trim())),
  "HS256 with the JWK": () => headed({ alg: "HS256" }, hs256(JSON.stringify(keySet.keys[0]))),
  "HS256 with nothing": () => headed({ alg: "HS256" }, hs256("")),
  "HS256 without a kid": () => crafted({ alg: "HS256" }, claims(), hs256(publicPem)),
  "a signature of zeros": () => headed({}, fixed(new Uint8Array(64))),
  "an empty signature": () => headed({}, fixed()),
  "a signature in DER": () => headed({}, es256Der),
  "a signature with more behind it": () => headed({}, (input) => Buffer.concat([es256()(input), Buffer.from("x")])),
  "a stranger's signature": () => headed({}, byStranger),
  "the signature of another token": () =>
    `${headed({}).slice(0, headed({}).lastIndexOf("."))}.${headed({ x: 1 }).split(".")[2]}`,
  "kid of a path": () => headed({ kid: "../../../../dev/null" }, hs256("")),
  "kid of a path, with HS256": () => headed({ alg: "HS256", kid: "/dev/null" }, hs256("")),
  "kid of a URL": () => headed({ kid: there() }, byStranger),
  "kid of SQL": () => headed({ kid: "ec' OR '1'='1" }, byStranger),
  "kid of a number": () => headed({ kid: 0 }, byStranger),
  "kid of a list": () => headed({ kid: ["ec"] }, byStranger),
  "kid of an object": () => headed({ kid: { toString: "ec" } }, byStranger),
  "kid of a name in JavaScript": () => headed({ kid: "__proto__" }, byStranger),
  "kid of 2,000 letters": () => headed({ kid: "k".repeat(2_000) }, byStranger),
  "kid with a line": () => headed({ kid: "ec\r\nx: y" }, byStranger),
  "a key that it brings (jwk)": () => headed({ jwk: strangerJwk }, byStranger),
  "a key that it brings, by its own kid": () => headed({ kid: "own", jwk: { ...strangerJwk, kid: "own" } }, byStranger),
  "a private key that it brings": () => headed({ jwk: stranger.privateKey.export({ format: "jwk" }) }, byStranger),
  "keys elsewhere (jku)": () => headed({ kid: "theirs", jku: there() }, byStranger),
  "keys elsewhere, in the issuer's name": () => headed({ kid: "theirs", jku: `${issuer}@127.0.0.1/` }, byStranger),
  "a certificate elsewhere (x5u)": () => headed({ kid: "theirs", x5u: there() }, byStranger),
  "a certificate that it brings (x5c)": () => headed({ x5c: [b64("certificate")], x5t: "x" }, byStranger),
  "crit of what nobody knows": () => headed({ crit: ["x"], x: 1 }),
  "crit of what it lacks": () => headed({ crit: ["x"] }),
  "crit of a registered one": () => headed({ crit: ["alg"] }),
  "crit without any": () => headed({ crit: [] }),
  "crit of a text": () => headed({ crit: "exp" }),
  "b64 false": () => `${b64(JSON.stringify({ ...goodHeader, crit: ["b64"], b64: false }))}.${claims()}.x`,
  "b64 false, encoded": () => headed({ crit: ["b64"], b64: false }),
  "b64 of another kind": () => headed({ crit: ["b64"], b64: "false" }),
  "another token inside": () => crafted({ ...goodHeader, cty: "JWT" }, headed({})),
  "another token inside, as JSON": () => crafted(goodHeader, JSON.stringify(headed({}))),
  "five parts": () => `${headed({ alg: "dir", enc: "A256GCM" })}.x.y`,
  "four parts": () => `${headed({})}.`,
  "two parts": () => headed({}).split(".").slice(0, 2).join("."),
  "a header that is a list": () => crafted("[]", claims()),
  "a header that is null": () => crafted("null", claims()),
  "a header of no JSON": () => crafted("{alg:ES256}", claims()),
  "a header in UTF-16": () => crafted(Buffer.from(JSON.stringify(goodHeader), "utf16le"), claims()),
  "claims that are a list": () => crafted(goodHeader, `[${claims()}]`),
  "claims that are a text": () => crafted(goodHeader, '"alice"'),
  "claims that are null": () => crafted(goodHeader, "null"),
  "claims that are none": () => crafted(goodHeader, "{}"),
  "claims of no JSON": () => crafted(goodHeader, claims().slice(1)),
  "claims with more behind them": () => crafted(goodHeader, `${claims()}{}`),
  "claims below __proto__": () => crafted(goodHeader, `{"__proto__":${claims()}}`),
  "the subject below __proto__": () => claiming({ sub: undefined, ["__proto__"]: '{"sub":"alice"}' }),
  "claims in other bytes than UTF-8": () => crafted(goodHeader, Buffer.from(claims({ sub: '"al\xffice"' }), "latin1")),
  "claims that are nested too deep": () =>
    crafted(goodHeader, claims({ x: `${"[".repeat(2_000)}${"]".repeat(2_000)}x` })),
  "base64 with a letter that is none": () => headed({}).replace(/.$/, "~"),
  ...Object.fromEntries(
    [
      "1e400",
      "-1e400",
      `"${later()}"`,
      '"Infinity"',
      "-1",
      "0",
      "null",
      "true",
      `[${later()}]`,
      "{}",
      "NaN",
      undefined,
    ].map((json) => [`exp of ${json === undefined ? "none" : json.slice(0, 8)}`, () => claiming({ exp: json })]),
  ),
  "exp twice, the last one over": () => crafted(goodHeader, claims().replace(/}$/, ',"exp":1}')),
  ...Object.fromEntries(
    ["1e400", "1e300", '"0"', "null", "true", "[0]", "{}"].map((json) => [
      `nbf of ${json}`,
      () => claiming({ nbf: json }),
    ]),
  ),
  ...Object.fromEntries(
    ['"0"', "1e400", "null", "true"].map((json) => [`iat of ${json}`, () => claiming({ iat: json })]),
  ),
  ...Object.fromEntries(
    [
      "[]",
      "{}",
      '{"0":"agents"}',
      '[["agents"]]',
      '"agents "',
      '"AGENTS"',
      '"agents,others"',
      '""',
      "null",
      "7",
      "true",
      '["agent","s"]',
      '{"agents":true}',
      '"agents\\u0000"',
      undefined,
    ].map((json) => [`aud of ${json}`, () => claiming({ aud: json })]),
  ),
  ...Object.fromEntries(
    [
      `"${issuer}/"`,
      `"${issuer.toUpperCase()}"`,
      `" ${issuer}"`,
      `["${issuer}"]`,
      `{"0":"${issuer}"}`,
      '""',
      "null",
      '"https://issuer.example"',
      '"https://issuer.example/%61"',
      undefined,
    ].map((json) => [`iss of ${json}`, () => claiming({ iss: json })]),
  ),
  ...Object.fromEntries(
    ['""', "7", "0", "null", "true", "[]", '["alice"]', '{"toString":"alice"}', undefined].map((json) => [
      `sub of ${json?.slice(0, 20)}`,
      () => claiming({ sub: json }),
    ]),
  ),
};

let world: SecuredWorld;
beforeAll(async () => {
  await new Promise<void>((resolve) => theirs.listen(0, "127.0.0.1", resolve));
  const it = jwtScheme({ jwks: keySet, issuer, audience: "agents" });
  world = await securedAgent({ schemes: { it } });
});
afterAll(async () => {
  await world.close();
  theirs.close();
});

interface End {
  readonly reason: string | undefined;
  readonly text: string;
}

/**
 * Returns how a call with a token ends, over some of the bindings. Checks that answers and log contain no part of the
 * token.
 */
async function ends(token: string, at: number): Promise<Map<string, End>> {
  const before = world.log.lines.length;
  const all = new Map<string, End>();
  for (const binding of everyNth(everyBinding, 3, at)) {
    const driver = world.drivers.get(titleOf(binding)) as Driver;
    const headers = { Authorization: `Bearer ${token}` };
    const { message, error } = await driver.call("SendMessage", say("turn"), { headers });
    const text = JSON.stringify(error ?? message);
    all.set(titleOf(binding), { reason: error?.reason, text });
  }
  const said = world.log.lines.slice(before).join("\n") + [...all.values()].map(({ text }) => text).join("\n");
  for (const part of token.split(".").filter(({ length }) => length > 30)) expect(said).not.toContain(part);
  return all;
}

/** Cases with their positions. */
const numbered = <T>(cases: Record<string, T>): [name: string, at: number, one: T][] =>
  Object.entries(cases).map(([name, one], at) => [name, at, one]);

describe("a JWT", () => {
  it.each(numbered(good))("%s is its owner's, over every binding", async (_name, at, [owner, token]) => {
    for (const [binding, { text }] of await ends(token(), at)) {
      expect([binding, text]).toEqual([binding, expect.stringContaining(`"owner":${JSON.stringify(owner)}`)]);
    }
  });

  it.each(numbered(bad))("with %s is refused, alike over every binding", async (_name, at, token) => {
    const all = await ends(token(), at);
    for (const [binding, { reason }] of all) expect([binding, reason]).toEqual([binding, "UNAUTHENTICATED"]);
  });

  it.each(numbered(nobody))("whose subject has %s is refused, alike over every binding", async (_name, at, sub) => {
    const all = await ends(claiming({ sub }), at);
    for (const [binding, { reason }] of all) expect([binding, reason]).toEqual([binding, "PERMISSION_DENIED"]);
  });

  it("is never asked where its keys are", () => {
    expect(asked).toBe(0);
  });
});
