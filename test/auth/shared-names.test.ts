import { describe, expect, it } from "vitest";
import {
  type AgentSecurity,
  apiKeyScheme,
  customScheme,
  httpBasicScheme,
  httpBearerScheme,
  jwtScheme,
  mutualTlsScheme,
  oauth2Scheme,
  openIdConnectScheme,
  type SecurityScheme,
} from "../../src/auth/index.js";
import { createA2A } from "../../src/index.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { obedient } from "../conformance/agents.js";
import { Log } from "./world.js";

/** Checks at the start of two schemes that may give a caller the same name. */

const issuer = "https://issuer.example";
const token = { issuer, audience: "agents" };
const flows = { clientCredentials: { tokenUrl: `${issuer}/token`, scopes: {} } };
const introspection = { url: `${issuer}/introspect`, clientId: "a", clientSecret: "b" };
const other = { ...token, issuer: "https://other.example" };
const owner = (): string => "ann";

/** Schemes that give the name, by the source of the name. */
const kinds: Record<string, Record<string, (name: string) => SecurityScheme>> = {
  issuer: {
    jwt: () => jwtScheme({ ...token, jwks: { keys: [] } }),
    oauth2: () => oauth2Scheme({ ...token, flows }),
    introspection: () => oauth2Scheme({ ...token, flows, introspection }),
    openIdConnect: () => openIdConnectScheme(token),
  },
  "another issuer": { jwt: () => jwtScheme({ ...other, jwks: { keys: [] } }) },
  authority: { mutualTls: () => mutualTlsScheme() },
  list: {
    apiKey: (name) => apiKeyScheme({ in: "header", name: "x-key", keys: [{ owner: name, key: "k" }] }),
    httpBearer: (name) => httpBearerScheme({ tokens: [{ owner: name, token: "t" }] }),
    httpBasic: (name) => httpBasicScheme({ users: [{ name, password: "p" }] }),
    "httpBasic with an owner": (name) => httpBasicScheme({ users: [{ name: "b", password: "p", owner: name }] }),
  },
  function: {
    "apiKey with check": () => apiKeyScheme({ in: "header", name: "x-key", check: () => ({ owner: "ann" }) }),
    "jwt with owner": () => jwtScheme({ ...other, jwks: { keys: [] }, owner }),
    "mutualTls with owner": () => mutualTlsScheme({ owner }),
    custom: () => customScheme({ card: { mtlsSecurityScheme: {} }, authenticate: () => ({ owner: "ann" }) }),
  },
};

type End = "refused" | "warned of" | "taken";

/** Results by the sources of both names, in the order of `kinds`. */
const ends: Record<string, End> = {
  "issuer, issuer": "taken",
  "issuer, another issuer": "refused",
  "issuer, authority": "refused",
  "issuer, list": "refused",
  "another issuer, authority": "refused",
  "another issuer, list": "refused",
  "authority, list": "refused",
  "list, list": "warned of",
};

interface Pair {
  readonly title: string;
  readonly schemes: (one: string, two: string) => Record<string, SecurityScheme>;
  readonly end: End;
}

const all = Object.entries(kinds).flatMap(([kind, schemes]) =>
  Object.entries(schemes).map(([title, make]) => ({ kind, title, make })),
);
const pairs: readonly Pair[] = all.flatMap((a, i) =>
  all.slice(i + 1).map((b) => ({
    title: `${a.title} of ${a.kind} and ${b.title} of ${b.kind}`,
    schemes: (one, two) => ({ a: a.make(one), b: b.make(two) }),
    end: ends[`${a.kind}, ${b.kind}`] ?? "taken",
  })),
);

/** Returns the start's warnings or its error. Empty if it accepts the schemes silently. */
async function said(schemes: AgentSecurity["schemes"], require?: AgentSecurity["require"]): Promise<string> {
  const logger = new Log();
  const tls = "tls.ca";
  try {
    const agent = { ...obedient("named"), security: { schemes, ...(require && { require }) } };
    await createA2A({ agent, store: memoryStore(), logger }).close();
  } catch (error) {
    return (error as Error).message;
  }
  return logger.lines.filter((line) => line.startsWith("warn") && !line.includes(tls)).join("\n");
}

const words: Record<End, RegExp> = {
  refused: /set owner (?:of \w+ )?to tell them apart/,
  "warned of": /both have the owner "/,
  taken: /^$/,
};

// The name has the form of a certificate's subject, so that an authority can give it.
describe.each(pairs.map((pair) => [pair.title, pair] as const))("one name in %s", (_title, { schemes, end }) => {
  it(`is ${end}, in either order`, async () => {
    const { a, b } = schemes("CN=ann", "CN=ann") as { a: SecurityScheme; b: SecurityScheme };
    expect(await said({ a, b })).toMatch(words[end]);
    expect(await said({ a: b, b: a })).toMatch(words[end]);
  });
});

describe("names that cannot meet", () => {
  it.each(pairs.filter(({ end }) => end === "warned of"))("are taken: two of $title", async ({ schemes }) => {
    expect(await said(schemes("ann", "ben"))).toBe("");
  });

  it("are taken: a listed one that is no subject, beside certificates", async () => {
    const key = apiKeyScheme({ in: "header", name: "x-key", keys: [{ owner: "ann", key: "k" }] });
    expect(await said({ key, tls: mutualTlsScheme() })).toBe("");
  });

  it("are taken: those of a scheme that never names the caller", async () => {
    const schemes = {
      people: jwtScheme({ ...token, jwks: { keys: [] } }),
      key: apiKeyScheme({ in: "header", name: "x-key", keys: [{ owner: "ann", key: "k" }] }),
    };
    expect(await said(schemes, [{ people: [], key: [] }])).toBe("");
    expect(await said(schemes, [{ people: [] }, { key: [], people: [] }])).toMatch(words.refused);
  });

  it("are taken: those of keys in one list, as for a key and its successor", async () => {
    const keys = ["k1", "k2"].map((key) => ({ owner: "ann", key }));
    expect(await said({ key: apiKeyScheme({ in: "header", name: "x-key", keys }) })).toBe("");
  });
});

describe("the refusal", () => {
  it("names the schemes, the issuer and the name, and no secret", async () => {
    const key = apiKeyScheme({ in: "header", name: "x-key", keys: [{ owner: "ann", key: "sesame" }] });
    const text = await said({ people: jwtScheme({ ...token, jwks: { keys: [] } }), key });
    expect(text).toContain(
      `security.schemes.people: ${issuer} may give a subject the name "ann", which is an owner of key: set owner of people to tell them apart`,
    );
    expect(text).not.toContain("sesame");
  });
});
