import { inspect } from "node:util";
import { create } from "@bufbuild/protobuf";
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { type AgentCard, AgentCardSchema } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { Credential } from "../../../src/client/credentials/credential.js";
import {
  authorizationCode,
  clientCredentials,
  defaultOAuthLimits,
  deviceCode,
  type OAuthOptions,
  type OAuthStorage,
} from "../../../src/client/oauth/index.js";
import { overFetch } from "../../../src/client/oauth/issuer-fetch.js";
import { A2AError } from "../../../src/core/error.js";
import { ScriptedIssuer } from "./scripted-issuer.js";
import { showing } from "./world.js";

// Faults of issuers and cards, over real sockets. `test/interop/oauth-client.interop.ts` tests the flows with a correct
// issuer.

let issuer: ScriptedIssuer;
let elsewhere: ScriptedIssuer;
beforeAll(async () => {
  issuer = await ScriptedIssuer.start();
  elsewhere = await ScriptedIssuer.start();
});
beforeEach(() => {
  issuer.wellBehaved();
  elsewhere.wellBehaved();
});
afterAll(() => {
  issuer.close();
  elsewhere.close();
});

function cardOf(scheme: object, scopes: readonly string[] = ["read"]): AgentCard {
  return create(AgentCardSchema, {
    securitySchemes: { it: { scheme } } as never,
    securityRequirements: [{ schemes: { it: { list: [...scopes] } } }],
  });
}
const oidcCard = (scopes?: readonly string[], openIdConnectUrl = `${issuer.url}/.well-known/openid-configuration`) =>
  cardOf({ case: "openIdConnectSecurityScheme", value: { openIdConnectUrl } }, scopes);
const oauthCard = (flow: object, more: object = {}) =>
  cardOf({ case: "oauth2SecurityScheme", value: { flows: { flow }, ...more } });
const machineCard = (tokenUrl: string, more: object = {}, refreshUrl = "") =>
  oauthCard({ case: "clientCredentials", value: { tokenUrl, refreshUrl } }, more);

const SECRET = "the-secret-of-the-client";
const machine = (more: Partial<OAuthOptions> = {}) =>
  clientCredentials({ clientId: "c", clientSecret: SECRET, allowLocalIssuer: true, ...more });
const impatient = { issuerTimeoutMs: 1_000, issuerCooldownMs: 0 };

function call(credentials: Credential, card = oidcCard(), url = "https://agent.example/") {
  return showing({ card, url, credentials, http: overFetch(fetch) });
}
async function tokenOf(credentials: Credential, card = oidcCard(), url?: string): Promise<string> {
  return (await call(credentials, card, url).attempt()).headers.authorization ?? "none";
}
const failing = async (work: Promise<unknown>): Promise<A2AError> => {
  const error: unknown = await work.catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(A2AError);
  // No error contains a secret.
  expect(inspect(error, { depth: 20, showHidden: true })).not.toMatch(/the-secret|token-\d|refresh-\d|leaked/);
  return error as A2AError;
};

/** Sets the clock back by an hour until the test is over. */
function setClockBack(): void {
  vi.setSystemTime(Date.now() - 3_600_000);
  onTestFinished(() => void vi.useRealTimers());
}

describe("an issuer that answers", () => {
  const endless = (response: import("node:http").ServerResponse): void => {
    response.writeHead(200, { "content-type": "application/json" });
    const timer = setInterval(() => response.write(" "), 50);
    response.on("close", () => clearInterval(timer));
  };
  const cases: [string, "UNAVAILABLE" | "UNAUTHENTICATED", Parameters<ScriptedIssuer["scripts"]["set"]>[1]][] = [
    ["with a 500", "UNAVAILABLE", () => ({ status: 500, body: "token-1" })],
    ["with an error of its own", "UNAVAILABLE", () => ({ status: 503, body: { error: "temporarily_unavailable" } })],
    ["with HTML", "UNAVAILABLE", () => ({ headers: { "content-type": "text/html" }, body: "<p>token-1" })],
    ["with no JSON", "UNAUTHENTICATED", () => ({ body: "{token-1" })],
    ["with a list", "UNAUTHENTICATED", () => ({ body: ["token-1"] })],
    ["without a token", "UNAUTHENTICATED", () => ({ body: { token_type: "Bearer", refresh_token: "refresh-1" } })],
    ["with an empty one", "UNAUTHENTICATED", () => ({ body: issuer.token({ access_token: "" }) })],
    ["with a number for one", "UNAUTHENTICATED", () => ({ body: issuer.token({ access_token: 7 }) })],
    ["with another kind of token", "UNAUTHENTICATED", () => ({ body: issuer.token({ token_type: "mac" }) })],
    [
      "with a token that no header can carry",
      "UNAUTHENTICATED",
      () => ({ body: issuer.token({ access_token: "leaked\r\nx: y" }) }),
    ],
    ["with a time that is none", "UNAUTHENTICATED", () => ({ body: issuer.token({ expires_in: "soon" }) })],
    ["with a time before now", "UNAUTHENTICATED", () => ({ body: issuer.token({ expires_in: -5 }) })],
    ["with more than it may", "UNAVAILABLE", () => ({ body: issuer.token({ more: "x".repeat(300_000) }) })],
    ["with less and less", "UNAVAILABLE", () => endless],
    ["with nothing", "UNAVAILABLE", () => () => {}],
    ["by hanging up", "UNAVAILABLE", () => (response) => response.destroy()],
    ["with a no", "UNAUTHENTICATED", () => ({ status: 400, body: { error: "invalid_scope" } })],
    [
      "with the secret",
      "UNAUTHENTICATED",
      () => ({ status: 400, body: { error: SECRET, error_description: `not ${SECRET}` } }),
    ],
    [
      "with what a terminal obeys",
      "UNAUTHENTICATED",
      () => ({ status: 400, body: { error: "\u001b[2J", error_description: "\u0007" } }),
    ],
  ];

  it.each(cases)("%s is %s, and no secret shows", async (_, reason, script) => {
    issuer.scripts.set("/token", script);
    const error = await failing(tokenOf(machine({ limits: impatient })));
    expect([error.reason, error.message]).toEqual([reason, expect.stringMatching(/^[\x20-\x7e]+$/)]);
    // The issuer recovers.
    issuer.wellBehaved();
    const credential = machine({ limits: impatient });
    expect(await tokenOf(credential)).toMatch(/^Bearer token-\d+$/);
  });

  it.each(["basic", "post"] as const)("with any form of a secret (%s) has it masked", async (secretIn) => {
    const clientSecret = 'the-secret: "ä/+ %20';
    issuer.scripts.set("/token", ({ form, authorization = "" }) => {
      const basic = authorization.replace("Basic ", "");
      const password = Buffer.from(basic, "base64").toString().replace(/^c:/, "");
      const all = [clientSecret, encodeURIComponent(clientSecret), basic, password, form.get("client_secret") ?? ""];
      const said = `no: ${all.filter((it) => it !== "").join(" or ")}.`;
      const challenge = { "www-authenticate": `Basic realm="${encodeURIComponent(clientSecret)}", error="${basic}"` };
      return {
        status: 400,
        headers: basic === "" ? {} : challenge,
        body: { error: "invalid_client", error_description: said },
      };
    });
    const error = await failing(tokenOf(machine({ clientSecret, secretIn, limits: impatient })));
    expect(error.message).toMatch(/\*\*\*/);
    const shown = inspect(error, { depth: 20, showHidden: true });
    for (const { form, authorization = "" } of issuer.asked) {
      if (authorization !== "") expect(shown).not.toContain(authorization.replace("Basic ", ""));
      expect(shown).not.toContain(form.get("client_secret") ?? clientSecret);
    }
    expect(shown).not.toMatch(/the-secret/);
  });

  it("with a refresh token has it masked", async () => {
    issuer.scripts.set("/token", ({ form }) =>
      form.has("refresh_token")
        ? { status: 400, body: { error: "unauthorized_client", error_description: `is ${form.get("refresh_token")}` } }
        : { body: issuer.token({ expires_in: 1, refresh_token: "refresh-1" }) },
    );
    const credential = machine({ limits: { ...impatient, clockSkewMs: 5_000 } });
    await tokenOf(credential);
    await expect.poll(() => tokenOf(credential).catch((thrown: Error) => thrown.message)).toContain("(is ***)");
  });

  it("later, and says when, is waited for as long", async () => {
    issuer.scripts.set("/token", () => ({
      status: 429,
      headers: { "retry-after": "7" },
      body: { error: "slow_down" },
    }));
    expect(await failing(tokenOf(machine()))).toMatchObject({ reason: "UNAVAILABLE", retryAfterMs: 7_000 });
  });

  it("by sending the client elsewhere, does not get its secret there", async () => {
    issuer.scripts.set("/token", () => ({ status: 307, headers: { location: `${elsewhere.url}/token` }, body: "" }));
    expect((await failing(tokenOf(machine()))).reason).toBe("UNAVAILABLE");
    expect(elsewhere.asked).toEqual([]);
  });

  it("badly is left alone for a while", async () => {
    issuer.scripts.set("/token", () => ({ status: 500, body: "" }));
    const credential = machine({ limits: { issuerCooldownMs: 60_000 } });
    const errors = await Promise.all([1, 2, 3].map(() => failing(tokenOf(credential))));
    errors.push(await failing(tokenOf(credential)));
    expect(errors.map(({ reason }) => reason)).toEqual(Array(4).fill("UNAVAILABLE"));
    expect(issuer.count()).toBe(1);
  });

  it("badly is asked again after the clock was set back", async () => {
    issuer.scripts.set("/token", () => ({ status: 500, body: "" }));
    const credential = machine();
    await failing(tokenOf(credential));
    issuer.wellBehaved();
    setClockBack();
    expect(await tokenOf(credential)).toMatch(/^Bearer /);
  });

  it("badly is no matter as long as a token is good", async () => {
    issuer.scripts.set("/token", () => ({ body: issuer.token({ expires_in: 3 }) }));
    const credential = machine({ limits: { issuerCooldownMs: 0, clockSkewMs: 0 } });
    const first = await tokenOf(credential);
    issuer.scripts.set("/token", () => ({ status: 500, body: "" }));
    const end = Date.now() + 2_400;
    while (Date.now() < end) {
      expect(await tokenOf(credential)).toBe(first);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    // The client requested a new token before the old one expired.
    expect(issuer.count()).toBeGreaterThan(1);
  });
});

describe("metadata that", () => {
  const lies: [string, (honest: Record<string, unknown>) => unknown][] = [
    ["are of another issuer", (it) => ({ ...it, issuer: "https://issuer.example" })],
    ["are of none", ({ issuer: _none, ...it }) => it],
    ["are no object", () => "[]"],
    ["are no JSON", () => "<html>"],
    ["send secrets over http", (it) => ({ ...it, token_endpoint: "http://issuer.example/token" })],
    ["send secrets into a file", (it) => ({ ...it, token_endpoint: "file:///token" })],
    ["have a password in them", (it) => ({ ...it, token_endpoint: "https://a:b@issuer.example/token" })],
    ["have no token endpoint", ({ token_endpoint: _none, ...it }) => it],
    ["have a number for one", (it) => ({ ...it, token_endpoint: 7 })],
  ];
  it.each(lies)("%s are not believed", async (_, lie) => {
    issuer.scripts.set("/.well-known/openid-configuration", () => ({ body: lie(issuer.metadata) }));
    expect((await failing(tokenOf(machine({ limits: impatient })))).reason).toBe("UNAUTHENTICATED");
    expect(issuer.count()).toBe(0);
  });

  it.each([
    ["are too large", () => ({ body: { ...issuer.metadata, more: "x".repeat(300_000) } })],
    ["do not come", () => () => {}],
    ["are not there", () => ({ status: 404, body: "" })],
    [
      "are elsewhere",
      () => ({ status: 302, headers: { location: `${elsewhere.url}/.well-known/openid-configuration` }, body: "" }),
    ],
  ] as [string, Parameters<ScriptedIssuer["scripts"]["set"]>[1]][])("%s are UNAVAILABLE", async (_, script) => {
    issuer.scripts.set("/.well-known/openid-configuration", script);
    expect((await failing(tokenOf(machine({ limits: impatient })))).reason).toBe("UNAVAILABLE");
    expect(elsewhere.asked).toEqual([]);
  });

  it.each(["token_endpoint", "authorization_endpoint", "device_authorization_endpoint"])(
    "name a %s on another host than that of an issuer that is named have to be allowed",
    async (endpoint) => {
      const metadata = { ...issuer.metadata, [endpoint]: `${issuer.url.replace("127.0.0.1", "127.0.0.2")}/token` };
      issuer.scripts.set("/.well-known/openid-configuration", () => ({ body: metadata }));
      const error = await failing(tokenOf(machine({ issuer: issuer.url, issuerHosts: ["127.0.0.3"] })));
      expect(error).toMatchObject({ reason: "UNAUTHENTICATED" });
      expect(error.message).toContain(`its ${endpoint} is on another host, 127.0.0.2, which has to be allowed`);
      expect(error.message).toContain('(issuerHosts: ["127.0.0.2"])');
      expect(issuer.count()).toBe(0);
      const allowed = machine({ issuer: issuer.url, issuerHosts: ["127.0.0.2"], limits: impatient });
      const outcome = await tokenOf(allowed).catch((thrown: A2AError) => thrown.message);
      // The allowed host does not listen.
      expect(outcome).toMatch(endpoint === "token_endpoint" ? /cannot be reached/ : /^Bearer token-/);
    },
  );

  it("are of OAuth 2.0 alone are found for an issuer that is named", async () => {
    issuer.scripts.delete("/.well-known/openid-configuration");
    issuer.scripts.set("/.well-known/oauth-authorization-server", () => ({ body: issuer.metadata }));
    expect(await tokenOf(machine({ issuer: issuer.url }))).toMatch(/^Bearer token-/);
  });

  it("were read once are used through an outage of their own", async () => {
    const credential = machine({ limits: { metadataMs: 0, issuerCooldownMs: 0 } });
    await tokenOf(credential);
    issuer.scripts.set("/.well-known/openid-configuration", () => ({ status: 500, body: "" }));
    expect(await tokenOf(credential, oidcCard(["write"]))).toMatch(/^Bearer token-/);
    expect(issuer.count("/.well-known/openid-configuration")).toBe(2);
  });

  it("are read again after their time, also after the clock was set back", async () => {
    const credential = machine({ limits: { metadataMs: 0 } });
    await tokenOf(credential);
    setClockBack();
    await tokenOf(credential, oidcCard(["write"]));
    expect(issuer.count("/.well-known/openid-configuration")).toBe(2);
  });

  it("name client_secret_post alone get the secret there", async () => {
    const only = { token_endpoint_auth_methods_supported: ["client_secret_post"] };
    issuer.scripts.set("/.well-known/openid-configuration", () => ({ body: { ...issuer.metadata, ...only } }));
    await tokenOf(machine());
    const { form, authorization } = issuer.asked.at(-1) ?? {};
    expect([form?.get("client_secret"), authorization]).toEqual([SECRET, undefined]);
  });
});

describe("a card", () => {
  it.each([
    ["http://issuer.example/token"],
    ["http://127.0.0.1:1/token"],
    ["https://127.0.0.1:1/token"],
    ["https://10.0.0.1/token"],
    ["https://[::1]/token"],
    ["https://localhost/token"],
    ["https://a:b@issuer.example/token"],
    ["no url"],
    [""],
  ])("that has tokens fetched at %j is refused, unless issuers may be on this machine", async (tokenUrl) => {
    const careful = clientCredentials({
      clientId: "c",
      clientSecret: SECRET,
      fetch: () => Promise.reject(new Error("asked")),
    });
    const error = await failing(tokenOf(careful, machineCard(tokenUrl)));
    expect([error.reason, error.message]).toEqual(["UNAUTHENTICATED", expect.not.stringContaining("asked")]);
  });

  it.each(["http://127.0.0.1:1", "https://localhost"])("names what allows an issuer at %s", async (url) => {
    const careful = clientCredentials({ clientId: "c", clientSecret: SECRET, issuer: url });
    expect((await failing(tokenOf(careful))).message).toContain("allowLocalIssuer");
  });

  it("does not lead to this machine by the dot of a fully qualified name", async () => {
    for (const host of ["localhost.", "agent.localhost.", "LOCALHOST."]) {
      const careful = clientCredentials({ clientId: "c", clientSecret: SECRET });
      const error = await failing(tokenOf(careful, machineCard(`https://${host}/token`)));
      expect(error.message).toContain("this machine");
    }
  });

  it("decides nothing of an issuer that the caller named", async () => {
    const pinned = machine({ issuer: issuer.url });
    const evil = { oauth2MetadataUrl: `${elsewhere.url}/.well-known/openid-configuration` };
    await tokenOf(pinned, machineCard(`${elsewhere.url}/token`, evil, `${elsewhere.url}/refresh`));
    expect(elsewhere.asked).toEqual([]);
    expect(issuer.count()).toBe(1);
  });

  it("does not lead away from an issuer that says where it is", async () => {
    const described = { oauth2MetadataUrl: `${issuer.url}/.well-known/openid-configuration` };
    await tokenOf(machine(), machineCard(`${elsewhere.url}/token`, described, `${elsewhere.url}/refresh`));
    const device = { tokenUrl: `${issuer.url}/token`, deviceAuthorizationUrl: `${elsewhere.url}/device` };
    const card = oauthCard({ case: "deviceCode", value: device }, described);
    const television = deviceCode({ clientId: "c", clientSecret: SECRET, allowLocalIssuer: true, prompt: () => {} });
    await failing(tokenOf(television, card));
    expect(elsewhere.asked).toEqual([]);
  });

  it("says where tokens are renewed, where nothing else is known of the issuer", async () => {
    issuer.scripts.set("/token", () => ({ body: issuer.token({ expires_in: 1, refresh_token: "refresh-1" }) }));
    issuer.scripts.set("/refresh", () => ({ body: issuer.token() }));
    const credential = machine({ limits: { clockSkewMs: 5_000 } });
    const card = machineCard(`${issuer.url}/token`, {}, `${issuer.url}/refresh`);
    await tokenOf(credential, card);
    await expect.poll(() => tokenOf(credential, card).then(() => issuer.count("/refresh"))).toBe(1);
    expect(issuer.asked.at(-1)?.form.get("refresh_token")).toBe("refresh-1");
  });

  it("gets no token that was for another host, or for another port of its own", async () => {
    const credential = machine();
    const one = await tokenOf(credential, oidcCard(), "https://one.example/a");
    for (const same of [
      "https://one.example/b",
      "https://one.example:443/",
      "https://ONE.example./",
      "HTTPS://one.example",
    ])
      expect(await tokenOf(credential, oidcCard(), same), same).toBe(one);
    const others = ["https://one.example:8443/a", "https://other.example/", "https://one.example.other/"];
    const tokens = [one];
    for (const other of others) tokens.push(await tokenOf(credential, oidcCard(), other));
    expect(new Set(tokens).size).toBe(1 + others.length);
  });

  it("has one token for an interface of gRPC, with a scheme or without", async () => {
    const storage = new Map<string, string>();
    const credential = authorizationCode({
      clientId: "c",
      storage,
      tokens: storage,
      allowLocalIssuer: true,
      redirectUri: "https://page.example/back",
    });
    for (const declared of ["one.example:50051", "dns:///one.example:50051", "grpcs://one.example:50051"]) {
      storage.clear();
      const url = await credential.begin({ card: oidcCard(), interface: { url: declared } });
      await credential.finish(`https://page.example/back?code=c&state=${url.searchParams.get("state")}`);
      expect(await tokenOf(credential, oidcCard(), "https://one.example:50051"), declared).toMatch(/^Bearer token-/);
    }
  });

  it("gets no token over http, unless that is allowed", async () => {
    expect((await failing(tokenOf(machine(), oidcCard(), "http://agent.example/"))).reason).toBe("UNAUTHENTICATED");
    expect(issuer.asked).toEqual([]);
    expect(await tokenOf(machine({ allowHttp: true }), oidcCard(), "http://agent.example/")).toMatch(/^Bearer/);
  });

  it("of another flow is for another credential", () => {
    const [name, scheme] = Object.entries(machineCard("https://issuer.example/token").securitySchemes)[0] ?? [];
    expect(name).toBe("it");
    const page = authorizationCode({ clientId: "c", storage: new Map() });
    expect([machine().fits(scheme!), page.fits(scheme!)]).toEqual([true, false]);
  });
});

describe("what is asked of an issuer", () => {
  it("has the scopes of the card and the options, the resource and the audience", async () => {
    const options = { scopes: ["offline_access"], resource: "https://agent.example/", audience: "agents" };
    await tokenOf(machine(options), oidcCard(["read", "write"]));
    expect(Object.fromEntries(issuer.asked.at(-1)?.form ?? [])).toEqual({
      grant_type: "client_credentials",
      scope: "offline_access read write",
      resource: "https://agent.example/",
      audience: "agents",
    });
  });

  it("is a token for all scopes together, when another call needs more", async () => {
    const credential = machine();
    const first = await tokenOf(credential);
    const second = await tokenOf(credential, oidcCard(["write"]));
    expect(second).not.toBe(first);
    expect(issuer.count()).toBe(2);
  });
});

describe("a device code", () => {
  it("is asked for again by a call that comes while the one before is ending", async () => {
    const asks = `${issuer.url}/device`;
    issuer.scripts.set("/device", () => ({
      body: { device_code: "d", user_code: "u", verification_uri: asks, expires_in: 600, interval: 1 },
    }));
    const card = oauthCard({
      case: "deviceCode",
      value: { tokenUrl: `${issuer.url}/token`, deviceAuthorizationUrl: asks },
    });
    let letGo = (): void => {};
    const prompted = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    let prompts = 0;
    const prompt = (): Promise<void> => {
      prompts++;
      return prompted;
    };
    const credentials = deviceCode({ clientId: "c", clientSecret: SECRET, allowLocalIssuer: true, prompt });
    const left = new AbortController();
    const asked = { card, url: "https://agent.example/", credentials, http: overFetch(fetch) };
    const first = showing({ ...asked, signal: left.signal }).attempt();
    first.catch(() => {});
    await expect.poll(() => prompts).toBe(1);
    left.abort();
    await expect(first).rejects.toThrow();
    const second = tokenOf(credentials, card);
    second.catch(() => {});
    letGo();
    expect(await second).toMatch(/^Bearer token-/);
    expect(prompts).toBe(2);
  });
});

describe("a refusal of the agent", () => {
  const refused = new A2AError("UNAUTHENTICATED", "No.");
  const lacking = (scope: string): A2AError => new A2AError("PERMISSION_DENIED", "No.", { metadata: { scope } });

  it("gets one new token for all calls, and not one for each refusal", async () => {
    const credential = machine();
    const calls = [1, 2, 3, 4].map(() => call(credential));
    await Promise.all(calls.map((each) => each.attempt()));
    expect(await Promise.all(calls.map((each) => each.again(refused)))).toEqual([true, true, true, true]);
    expect(issuer.count()).toBe(2);
    // A server that also refuses the new token has another reason, so the client requests no further token.
    for (let i = 0; i < 5; i++) {
      const next = call(credential);
      await next.attempt();
      expect(await next.again(refused)).toBe(false);
    }
    expect(issuer.count()).toBe(2);
  });

  it("fetches another one also after the clock was set back", async () => {
    const credential = machine();
    for (let i = 0; i < 2; i++) {
      const each = call(credential);
      await each.attempt();
      expect(await each.again(refused)).toBe(true);
      setClockBack();
    }
    expect(issuer.count()).toBe(3);
  });

  it("is the issuer's failure where the issuer has no other", async () => {
    const each = call(machine());
    await each.attempt();
    issuer.scripts.set("/token", () => ({ status: 500, body: "" }));
    expect((await failing(each.again(refused))).reason).toBe("UNAVAILABLE");
  });

  it("for scopes that the issuer does not know harms no other call", async () => {
    const credential = machine({ limits: { issuerCooldownMs: 60_000 } });
    const first = await tokenOf(credential);
    const scripted = issuer.scripts.get("/token");
    issuer.scripts.set("/token", (asked) =>
      asked.form.get("scope")?.includes("beyond")
        ? { status: 400, body: { error: "invalid_scope" } }
        : scripted!(asked),
    );
    const each = call(credential);
    await each.attempt();
    expect(await each.again(lacking("beyond"))).toBe(false);
    expect(await tokenOf(credential)).toBe(first);
  });

  it("of two calls at once, for scopes that the issuer does not know, harms no other call", async () => {
    const credential = machine({ limits: { issuerCooldownMs: 60_000 } });
    const first = await tokenOf(credential);
    issuer.scripts.set("/token", () => ({ status: 400, body: { error: "invalid_scope" } }));
    const calls = [call(credential), call(credential)];
    await Promise.all(calls.map((each) => each.attempt()));
    expect(await Promise.all(calls.map((each) => each.again(lacking("beyond"))))).toEqual([false, false]);
    expect(await tokenOf(credential)).toBe(first);
  });

  it("for scopes that the issuer gives not, and says so, is no reason to try again", async () => {
    issuer.scripts.set("/token", () => ({ body: issuer.token({ scope: "read" }) }));
    const credential = machine();
    for (let i = 0; i < 3; i++) {
      const each = call(credential);
      await each.attempt();
      expect(await each.again(lacking("write"))).toBe(false);
    }
    expect(issuer.count()).toBeLessThan(5);
  });
});

describe("a store of tokens", () => {
  const rotating = (): void => {
    let current = "refresh-0";
    issuer.scripts.set("/token", ({ form }) => {
      const given = form.get("refresh_token");
      // A reused refresh token ends the grant (RFC 9700).
      if (given !== null && given !== current) return { status: 400, body: { error: "invalid_grant" } };
      current = `refresh-${issuer.asked.length}`;
      return { body: issuer.token({ expires_in: 1, refresh_token: current }) };
    });
  };

  it("spares the next process a request", async () => {
    const tokens = new Map<string, string>();
    const first = await tokenOf(machine({ tokens }));
    expect(await tokenOf(machine({ tokens }))).toBe(first);
    expect(issuer.count()).toBe(1);
  });

  it("that never answers holds no later call, also after the clock was set back", async () => {
    let asked = 0;
    const get = () => (asked++ === 0 ? new Promise<undefined>(() => {}) : undefined);
    const tokens: OAuthStorage = { get, set: () => {}, delete: () => {} };
    const credentials = machine({ tokens, limits: { issuerTimeoutMs: 300 } });
    const signal = AbortSignal.timeout(10);
    const gone = { card: oidcCard(), url: "https://agent.example/", credentials, http: overFetch(fetch), signal };
    await failing(showing(gone).attempt());
    setClockBack();
    await new Promise((resolve) => setTimeout(resolve, 1_210));
    expect(await tokenOf(credentials)).toMatch(/^Bearer /);
  });

  it("holds no later call also where the first one waits for ever", async () => {
    let asked = 0;
    const get = () => (asked++ === 0 ? new Promise<undefined>(() => {}) : undefined);
    const tokens: OAuthStorage = { get, set: () => {}, delete: () => {} };
    const credentials = machine({ tokens, limits: { issuerTimeoutMs: 300 } });
    void tokenOf(credentials);
    await new Promise((resolve) => setTimeout(resolve, 1_210));
    expect(await tokenOf(credentials)).toMatch(/^Bearer /);
  });

  it.each(["", "{", "null", "7", '{"v":2}', '{"v":1,"accessToken":7}', '{"v":1,"accessToken":"leaked"}'])(
    "that has %j in it has nothing",
    async (junk) => {
      const tokens = new Map<string, string>();
      await tokenOf(machine({ tokens }));
      for (const key of tokens.keys()) tokens.set(key, junk);
      expect(await tokenOf(machine({ tokens }))).toMatch(/^Bearer token-/);
      expect(issuer.count()).toBe(2);
    },
  );

  it("reports a failing store, and loses no token that was issued", async () => {
    const tokens: OAuthStorage = {
      get: () => undefined,
      set: () => Promise.reject(new Error("full")),
      delete: () => {},
    };
    const credential = machine({ tokens });
    expect(await failing(tokenOf(credential))).toMatchObject({ reason: "UNAVAILABLE", cause: { message: "full" } });
    expect(await tokenOf(credential)).toMatch(/^Bearer token-/);
    expect(issuer.count()).toBe(1);
  });

  it("has refresh tokens used once, by many who share it", async () => {
    rotating();
    const tokens = new Map<string, string>();
    const many = Array.from({ length: 6 }, () => machine({ tokens, limits: { clockSkewMs: 0 } }));
    const end = Date.now() + 3_500;
    while (Date.now() < end) {
      const shown = await Promise.all(many.map((each) => tokenOf(each)));
      expect(shown.every((it) => it.startsWith("Bearer token-"))).toBe(true);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    const refreshes = issuer.asked.filter(({ form }) => form.has("refresh_token"));
    expect(new Set(refreshes.map(({ form }) => form.get("refresh_token"))).size).toBe(refreshes.length);
    expect(refreshes.length).toBeGreaterThan(1);
  });

  it("is used again after work that never ended, by one at a time", async () => {
    rotating();
    const kept = new Map<string, string>();
    let isStopped = false;
    let reads = 0;
    const tokens: OAuthStorage = {
      // The second read of a renewal happens under the lock. It never ends.
      get: (key) => (isStopped && ++reads === 2 ? new Promise<undefined>(() => {}) : kept.get(key)),
      set: (key, value) => kept.set(key, value),
      delete: (key) => kept.delete(key),
    };
    const limits = { clockSkewMs: 0, issuerTimeoutMs: 500 };
    const stopped = machine({ tokens, limits });
    await tokenOf(stopped);
    await new Promise((resolve) => setTimeout(resolve, 1_010));
    isStopped = true;
    void tokenOf(stopped);
    await expect.poll(() => reads).toBe(2);
    const others = Array.from({ length: 4 }, () => machine({ tokens, limits }));
    const shown = await Promise.all(others.map((each) => tokenOf(each)));
    expect(new Set(shown).size).toBe(1);
    expect(issuer.asked.filter(({ form }) => form.has("refresh_token"))).toHaveLength(1);
  });

  it("has refresh tokens used once by processes, which have a lock in common", async () => {
    rotating();
    const kept = new Map<string, string>();
    let before: Promise<unknown> = Promise.resolve();
    const processOf = (): OAuthStorage => ({
      get: (key) => kept.get(key),
      set: (key, value) => kept.set(key, value),
      delete: (key) => kept.delete(key),
      lock<T>(_: string, work: () => Promise<T>) {
        const mine = before.then(work, work);
        before = mine;
        return mine;
      },
    });
    const many = Array.from({ length: 4 }, () => machine({ tokens: processOf(), limits: { clockSkewMs: 0 } }));
    await tokenOf(many[0] as Credential);
    const end = Date.now() + 2_500;
    while (Date.now() < end) {
      await Promise.all(many.map((each) => tokenOf(each)));
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    const refreshes = issuer.asked.filter(({ form }) => form.has("refresh_token"));
    expect(new Set(refreshes.map(({ form }) => form.get("refresh_token"))).size).toBe(refreshes.length);
  });
});

describe("a sign-in", () => {
  const page = (storage: OAuthStorage, more: Partial<OAuthOptions> = {}) =>
    authorizationCode({
      clientId: "c",
      redirectUri: "https://page.example/back",
      storage,
      allowLocalIssuer: true,
      ...more,
    });
  const agent = () => ({ card: oidcCard(), interface: { url: "https://agent.example/" } });
  const answerTo = (url: URL, more = ""): string =>
    `https://page.example/back?code=leaked-code&state=${url.searchParams.get("state")}${more}`;

  it("is over when its user takes too long", async () => {
    const storage = new Map<string, string>();
    const credential = page(storage, { limits: { signInMs: 0 } });
    const back = answerTo(await credential.begin(agent()));
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect((await failing(credential.finish(back))).reason).toBe("UNAUTHENTICATED");
    expect(issuer.count()).toBe(0);
  });

  it("is good once, also when it fails", async () => {
    const storage = new Map<string, string>();
    const credential = page(storage);
    issuer.scripts.set("/token", () => ({
      status: 400,
      body: { error: "invalid_grant", error_description: "leaked-code" },
    }));
    const back = answerTo(await credential.begin(agent()));
    expect((await failing(credential.finish(back))).reason).toBe("UNAUTHENTICATED");
    issuer.wellBehaved();
    expect((await failing(credential.finish(back))).message).toContain("No such sign-in");
    expect(issuer.count()).toBe(0);
  });

  it("is good once, also when it is finished twice at once", async () => {
    const credential = page(new Map());
    const back = answerTo(await credential.begin(agent()));
    const ended = await Promise.allSettled([credential.finish(back), credential.finish(back)]);
    expect(ended.map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
    expect(issuer.count()).toBe(1);
  });

  it("does not end in another user's session", async () => {
    const back = answerTo(await page(new Map()).begin(agent()));
    expect((await failing(page(new Map()).finish(back))).reason).toBe("UNAUTHENTICATED");
    expect(issuer.count()).toBe(0);
  });

  it.each(["https://page.example/back", "https://page.example/back?code=c", "/back?state=s", ""])(
    "is not what %j answers",
    async (url) => {
      expect(await page(new Map()).finish(url)).toBe(false);
    },
  );

  it("takes the URL of a request, whatever a proxy made of its beginning", async () => {
    const credential = page(new Map());
    const { pathname, search } = new URL(answerTo(await credential.begin(agent())));
    expect(await credential.finish(pathname + search)).toBe(true);
    expect(issuer.asked.at(-1)?.form.get("redirect_uri")).toBe("https://page.example/back");
    expect(await tokenOf(credential)).toMatch(/^Bearer token-/);
  });

  it.each(["agent.example:443", "https://agent.example"])("is for the host of the interface %s", async (url) => {
    const credential = page(new Map());
    await credential.finish(answerTo(await credential.begin({ ...agent(), interface: { url } })));
    expect(await tokenOf(credential)).toMatch(/^Bearer token-/);
    const other = await failing(tokenOf(credential, oidcCard(), "https://agent.example:8443/"));
    expect(other.metadata.signIn).toBe("required");
  });

  it("asks next time for the scopes that the agent lacked", async () => {
    const credential = page(new Map());
    await credential.finish(answerTo(await credential.begin(agent())));
    const each = call(credential);
    await each.attempt();
    expect(await each.again(new A2AError("PERMISSION_DENIED", "No.", { metadata: { scope: "write" } }))).toBe(false);
    // Calls with the granted scopes continue to work.
    expect(await tokenOf(credential)).toMatch(/^Bearer token-/);
    const next = await credential.begin(agent());
    expect(next.searchParams.get("scope")).toBe("read write");
  });

  it("is not for agents that ask for none", async () => {
    const key = cardOf({ case: "apiKeySecurityScheme", value: { location: "header", name: "x" } });
    const begun = page(new Map()).begin({ card: key, interface: { url: "https://agent.example/" } });
    expect((await failing(begun)).reason).toBe("UNAUTHENTICATED");
  });
});

describe("options", () => {
  it.each([
    [{ clientId: "" }],
    [{ clientId: 7 }],
    [{ clientSecret: "" }],
    [{ clientSecret: "s", privateKey: {} }],
    [{ clientSecret: undefined }],
    [{ issuer: "nowhere" }],
    [{ limits: { issuerTimeoutMs: -1 } }],
    [{ limits: { issuerTimeoutMs: Number.NaN } }],
    [{ limits: { issuerTimeout: 1 } }],
    [{ issuerHosts: "a.example" }],
    [{ issuerHost: ["a.example"] }],
    [{ allowHttp: "false" }],
    [{ allowLocalIssuer: "false" }],
  ])("that cannot work are refused: %j", (bad) => {
    expect(() => clientCredentials({ clientId: "c", clientSecret: "s", ...bad } as never)).toThrow(TypeError);
  });

  it("are named together, without what is secret, and may be undefined", () => {
    const options = { clientSecret: "", secretIn: "body", issuerHost: [], limits: { maxAgents: -1 } };
    expect(() => clientCredentials(options as never)).toThrow(
      "Invalid options: clientId is missing; clientSecret is an empty text, not a non-empty text; " +
        'secretIn is "body", not "basic" or "post"; the option issuerHost is not known: did you mean issuerHosts?; ' +
        "limits.maxAgents is -1, not a number from 0",
    );
    expect(() => deviceCode({ clientId: "c" } as never)).toThrow("Invalid options: prompt is missing");
    expect(() => deviceCode({ clientId: "c", prompt: "x" } as never)).toThrow('prompt is "x", not a function');
    const limits = { maxAgents: undefined } as never;
    expect(() => clientCredentials({ clientId: "c", clientSecret: "s", limits })).not.toThrow();
  });

  it("do not show when a credential is looked at", async () => {
    const credential = machine();
    await tokenOf(credential);
    for (const text of [inspect(credential, { depth: 20, showHidden: true }), JSON.stringify(credential)]) {
      expect(text).not.toMatch(/the-secret|token-\d/);
    }
  });

  it("have a limit for each thing that an issuer may have too much of", () => {
    for (const [name, value] of Object.entries(defaultOAuthLimits)) expect([name, value > 0]).toEqual([name, true]);
  });
});
