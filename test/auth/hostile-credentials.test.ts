import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import {
  apiKeyScheme,
  httpBasicScheme,
  httpBearerScheme,
  oauth2Scheme,
  type SecurityScheme,
} from "../../src/auth/index.js";
import { everyNth } from "../support/cover.js";
import type { CallOptions, Driver } from "../support/driver.js";
import { TestIssuer } from "./issuer.js";
import { everyBinding, type SecuredWorld, say, securedAgent, titleOf } from "./world.js";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const key = "key-of-alice-4711";
const password = "pass:wörd-of-zoë";
const token = "token-of-carol";
const issuer = await TestIssuer.start();
afterAll(() => issuer.close());

const base64 = (text: string | Uint8Array): string => Buffer.from(text).toString("base64");
const authorization = (value: string): CallOptions => ({ headers: { Authorization: value } });
const basic = (text: string | Uint8Array): CallOptions => authorization(`Basic ${base64(text)}`);
const header = (value: string | readonly string[]): CallOptions => ({ headers: { "X-Key": value } });
const cookie = (value: string): CallOptions => ({ headers: { Cookie: value } });
const query = (name: string, value: string): CallOptions => ({ query: { [name]: value } });

type Row = readonly [name: string, given: CallOptions, owner?: string];

interface Table {
  readonly scheme: SecurityScheme;
  /** Texts that must not appear in an answer or in the log. */
  readonly secrets: readonly string[];
  /** Credentials with their owner. Credentials without an owner are refused. */
  readonly rows: readonly Row[];
  /** True if the client has to write the URL itself, which clients of gRPC and Connect do not. */
  readonly needsUrl?: boolean;
}

const keys = [{ owner: "alice", key }];

/** Changes to the issuer's answer about a token, as JSON by the token's name. */
const opaque: Record<string, string> = {
  good: "{}",
  "of several audiences": '{"aud":["others","agents"]}',
  "without times": '{"exp":null,"nbf":null}',
  "of a time with a fraction": '{"nbf":0.5}',
  "active twice, the last one false": '{"active":true,"active":false}',
  "exp as a text": '{"exp":"99999999999"}',
  "exp beyond all numbers": '{"exp":1e400}',
  "exp of false": '{"exp":false}',
  "exp of a list": '{"exp":[99999999999]}',
  "exp of -1": '{"exp":-1}',
  "nbf as a text": '{"nbf":"0"}',
  "nbf beyond all numbers": '{"nbf":1e400}',
  "nbf in another age": '{"nbf":1e300}',
  "aud of another": '{"aud":"others"}',
  "aud with a space": '{"aud":"agents "}',
  "aud of an object": '{"aud":{"0":"agents"}}',
  "aud of lists": '{"aud":[["agents"]]}',
  "aud of null": '{"aud":null}',
  "iss with a slash": `{"iss":"${issuer.url}/"}`,
  "iss of a list": `{"iss":["${issuer.url}"]}`,
  "iss of null": '{"iss":null}',
  "sub of null": '{"sub":null}',
  "sub empty": '{"sub":""}',
  "sub of a number": '{"sub":7}',
  "sub of a list": '{"sub":["alice"]}',
};
const accepted = 4;
const opaqueOf = (name: string): string => `opaque-${name.replaceAll(/[ ,]+/g, "-")}`;
for (const [name, json] of Object.entries(opaque)) {
  // The last of two members with the same name counts.
  const usual = `"active":true,"iss":"${issuer.url}","aud":"agents","sub":"alice"`;
  issuer.opaque.set(opaqueOf(name), json === "{}" ? `{${usual}}` : `{${usual},${json.slice(1)}`);
}

const tables: Record<string, Table> = {
  "an API key in a header": {
    scheme: apiKeyScheme({ in: "header", name: "X-Key", keys }),
    secrets: [key, "not-the-key"],
    rows: [
      ["as it is", header(key), "alice"],
      ["twice in one header", header(`${key}, ${key}`)],
      ["twice in one header, without a space", header(`${key},${key}`)],
      ["before another one", header(`${key}, not-the-key`)],
      ["behind another one", header(`not-the-key, ${key}`)],
      ["in two headers", header([key, key])],
      ["in two headers, the second one wrong", header([key, "not-the-key"])],
      ["in two headers, the first one wrong", header(["not-the-key", key])],
      ["in quotes", header(`"${key}"`)],
      ["with Bearer before it", header(`Bearer ${key}`)],
      ["in other letters", header(key.toUpperCase())],
      ["with a comma behind it", header(`${key},`)],
      ["with a line that was encoded", header(`${key}%0d%0a`)],
      ["as percent signs", header(`%6b${key.slice(1)}`)],
      ["as base64", header(base64(key))],
      ["without its end", header(key.slice(0, -1))],
      ["with more behind it", header(`${key}x`)],
      ["of a name in JavaScript", header("__proto__")],
      ["of another one in JavaScript", header("constructor")],
      ["of 10,000 letters", header("not-the-key".repeat(900))],
      ["by another name", { headers: { "X-Keys": key, X_Key: key } }],
      ["as a cookie", cookie(`X-Key=${key}`)],
    ],
  },
  "an API key in a cookie": {
    scheme: apiKeyScheme({ in: "cookie", name: "key", keys }),
    secrets: [key, "not-the-key"],
    rows: [
      ["as it is", cookie(`key=${key}`), "alice"],
      ["in quotes (RFC 6265, 4.1.1)", cookie(`a=b; key="${key}"`), "alice"],
      ["in half a pair of quotes", cookie(`key="${key}`)],
      ["behind a wrong one", cookie(`key=not-the-key; key=${key}`)],
      ["in another cookie's value", cookie(`a=key=${key}`)],
      ["by a longer name", cookie(`xkey=${key}; key2=${key}`)],
      ["by a name in other letters", cookie(`KEY=${key}`)],
      ["without a name", cookie(key)],
      ["encoded", cookie(`key=%6b${key.slice(1)}`)],
      ["in a header", { headers: { key } }],
    ],
  },
  "an API key in the query": {
    scheme: apiKeyScheme({ in: "query", name: "key", keys }),
    secrets: [key, "not-the-key"],
    needsUrl: true,
    rows: [
      ["as it is", query("key", key), "alice"],
      ["wrong", query("key", "not-the-key")],
      ["in other letters", query("KEY", key)],
      ["twice in one value", query("key", `${key},${key}`)],
      ["in brackets", query("key[]", key)],
      ["with a header beside it", { ...query("key", "not-the-key"), headers: { key, "X-Key": key } }],
      ["with a null character", query("key", `${key}\0`)],
      ["with a space", query("key", `${key} `)],
    ],
  },
  Basic: {
    scheme: httpBasicScheme({ users: [{ name: "zoë", password }] }),
    secrets: [password, base64(`zoë:${password}`), "not-the-password", base64("zoë:not-the-password")],
    rows: [
      ["as it is", basic(`zoë:${password}`), "zoë"],
      ["in other letters", authorization(`bAsIc ${base64(`zoë:${password}`)}`), "zoë"],
      ["with more spaces", authorization(`Basic    ${base64(`zoë:${password}`)}`), "zoë"],
      ["without a colon", basic("zoë")],
      ["a colon alone", basic(":")],
      ["without a name", basic(`:${password}`)],
      ["without a password", basic("zoë:")],
      ["in Latin-1", basic(Buffer.from(`zoë:${password}`, "latin1"))],
      ["in another normal form", basic(`zoë:${password}`.normalize("NFD"))],
      ["with a null character", basic(`zoë:${password}\0`)],
      ["with a space", basic(`zoë:${password} `)],
      ["with a line", basic(`zoë:${password}\n`)],
      ["with another name before it", basic(`root:zoë:${password}`)],
      ["of bytes", basic(new Uint8Array([0xff, 0x3a, 0xfe]))],
      ["of half a character", basic(new Uint8Array([0x7a, 0xc3, 0x3a, 0x70]))],
      ["of nothing", authorization("Basic")],
      ["of equals signs", authorization("Basic ====")],
      ["not in base64", authorization(`Basic zoe:not-the-password`)],
      ["with a list", authorization(`Basic ${base64(`zoë:${password}`)}, Basic ${base64("zoë:not-the-password")}`)],
      ["with parameters", authorization(`Basic username="zoe", password="not-the-password"`)],
      ["with a colon behind the scheme", authorization(`Basic: ${base64(`zoë:${password}`)}`)],
      ["of 10,000 letters", basic(`zoë:${"not-the-password".repeat(450)}`)],
      ["by a name in JavaScript", basic("__proto__:not-the-password")],
    ],
  },
  "a bearer token": {
    scheme: httpBearerScheme({ tokens: [{ owner: "carol", token }] }),
    secrets: [token, "not-the-token"],
    rows: [
      ["as it is", authorization(`Bearer ${token}`), "carol"],
      ["in other letters", authorization(`bEaReR ${token}`), "carol"],
      ["with more spaces", authorization(`Bearer   ${token}`), "carol"],
      ["without a scheme", authorization(token)],
      ["without a space", authorization(`Bearer${token}`)],
      ["with a colon", authorization(`Bearer: ${token}`)],
      ["of nothing", authorization("Bearer")],
      ["in quotes", authorization(`Bearer "${token}"`)],
      ["as a parameter", authorization(`Bearer token=${token}`)],
      ["with a comma behind it", authorization(`Bearer ${token},`)],
      ["with a parameter behind it", authorization(`Bearer ${token};x=y`)],
      ["before another one", authorization(`Bearer ${token}, not-the-token`)],
      ["before another one, with a space", authorization(`Bearer ${token} not-the-token`)],
      ["behind its scheme twice", authorization(`Bearer Bearer ${token}`)],
      ["encoded", authorization(`Bearer %74${token.slice(1)}`)],
      ["of another scheme", authorization(`Token ${token}`)],
      ["of Basic", authorization(`Basic ${token}`)],
      ["of 10,000 letters", authorization(`Bearer ${"not-the-token".repeat(750)}`)],
      ["in the query", { query: { access_token: token } }],
      [
        "by another header",
        { headers: { "X-Authorization": `Bearer ${token}`, "Proxy-Authorization": `Bearer ${token}` } },
      ],
    ],
  },
  introspection: {
    scheme: oauth2Scheme({
      issuer: issuer.url,
      audience: "agents",
      flows: { clientCredentials: { tokenUrl: `${issuer.url}/token`, scopes: {} } },
      introspection: { url: `${issuer.url}/introspect`, clientId: "parley", clientSecret: "client secret" },
    }),
    secrets: ["opaque-", "client secret", "client%20secret"],
    rows: Object.keys(opaque).map((name, i): Row => {
      const given = authorization(`Bearer ${opaqueOf(name)}`);
      return i < accepted ? [name, given, "alice"] : [name, given];
    }),
  },
};

describe.each(Object.entries(tables))("%s", (_title, { scheme, secrets, rows, needsUrl = false }) => {
  let world: SecuredWorld;
  beforeAll(async () => {
    world = await securedAgent({ schemes: { it: scheme } });
  });
  afterAll(() => world.close());

  it.each(rows.map((row, at) => ({ name: row[0], row, at })))("$name", async ({ row: [, given, owner], at }) => {
    const before = world.log.lines.length;
    const said: string[] = [];
    const ends: Record<string, unknown> = {};
    for (const binding of needsUrl ? everyBinding : everyNth(everyBinding, 3, at)) {
      if (needsUrl && !["jsonrpc", "rest"].includes(binding.name)) continue;
      const driver = world.drivers.get(titleOf(binding)) as Driver;
      const { message, error, headers } = await driver.call("SendMessage", say("turn"), given);
      said.push(JSON.stringify([error ?? message, headers]));
      const found = /"owner":("[^"]*")/.exec(JSON.stringify(message ?? {}))?.[1];
      ends[titleOf(binding)] = found === undefined ? error?.reason : JSON.parse(found);
    }
    const expected = Object.keys(ends).map((title) => [title, owner ?? "UNAUTHENTICATED"]);
    expect(ends).toEqual(Object.fromEntries(expected));
    const text = [...said, ...world.log.lines.slice(before)].join("\n");
    expect(secrets.filter((secret) => text.includes(secret))).toEqual([]);
  });
});

describe("an issuer that says of a token neither that it is active nor that it is not", () => {
  it.each(['"true"', "1", "[true]", "null"])("has not answered: active is %s", async (json) => {
    const world = await securedAgent({ schemes: { it: tables.introspection?.scheme as SecurityScheme } });
    issuer.opaque.set("opaque-odd", `{"active":${json},"iss":"${issuer.url}","aud":"agents","sub":"alice"}`);
    for (const driver of world.drivers.values()) {
      const { error } = await driver.call("SendMessage", say("turn"), authorization("Bearer opaque-odd"));
      expect([driver.name, error?.reason]).toEqual([driver.name, "UNAVAILABLE"]);
    }
    await world.close();
  });
});
