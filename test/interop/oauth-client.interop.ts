import { inspect } from "node:util";
import { exportJWK, generateKeyPair } from "jose";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { type OAuth2SchemeOptions, oauth2Scheme, openIdConnectScheme } from "../../src/auth/index.js";
import type { A2AClient } from "../../src/client/client.js";
import type { Credential } from "../../src/client/credentials/credential.js";
import { type Binding, bindings } from "../../src/client/discovery/interfaces.js";
import { connect } from "../../src/client/index.js";
import {
  authorizationCode,
  clientCredentials,
  type DevicePrompt,
  deviceCode,
  type OAuthOptions,
} from "../../src/client/oauth/index.js";
import { overFetch } from "../../src/client/oauth/issuer-fetch.js";
import { A2AError, type Agent, artifact, completed, working } from "../../src/index.js";
import { issuerBounds } from "../../src/jwt/issuer.js";
import { type SecuredWorld, say, secured } from "../auth/world.js";
import { callWith, cardAt, showing } from "../client/credentials/world.js";
import { obedient } from "../conformance/agents.js";
import { setConstantsOfFile } from "../support/constants.js";
import type { Driver } from "../support/driver.js";
import { AUDIENCE, OidcIssuer, PlainBrowser, type RegisteredClient } from "./support/oidc-issuer.js";

// An independent issuer and server. The flows are those of oidc-provider, and calls use every binding.

const pair = await generateKeyPair("ES256", { extractable: true });
const machine = { redirect_uris: [], response_types: [], grant_types: ["client_credentials"] };
const person = { grant_types: ["authorization_code", "refresh_token"], token_endpoint_auth_method: "none" };
/** Clients with tokens of a few seconds, one for each test, so that the tests can run concurrently. */
const shortLived = Array.from({ length: 50 }, (_, at) => `short-${at}`);
const registered: readonly RegisteredClient[] = [
  ...shortLived.map((id) => ({
    ...machine,
    client_id: id,
    client_secret: `secret of ${id}`,
    token_endpoint_auth_method: "client_secret_post",
  })),
  {
    ...machine,
    client_id: "by-basic",
    client_secret: "secret: of/basic+%",
    token_endpoint_auth_method: "client_secret_basic",
  },
  {
    ...machine,
    client_id: "by-post",
    client_secret: "secret of post",
    token_endpoint_auth_method: "client_secret_post",
  },
  {
    ...machine,
    client_id: "by-key",
    token_endpoint_auth_method: "private_key_jwt",
    token_endpoint_auth_signing_alg: "ES256",
    jwks: { keys: [{ ...(await exportJWK(pair.publicKey)), kid: "of the client" }] },
  },
  { ...person, client_id: "page", redirect_uris: ["https://page.example/back"], response_types: ["code"] },
  {
    client_id: "television",
    application_type: "native",
    redirect_uris: [],
    response_types: [],
    grant_types: ["urn:ietf:params:oauth:grant-type:device_code", "refresh_token"],
    token_endpoint_auth_method: "none",
  },
];

/** Tasks of the agent `long` run until the test ends them, by the text of their message. */
const ends = new Map<string, () => void>();
const long: Agent["execute"] = async function* ({ text }) {
  yield working();
  await new Promise<void>((resolve) => ends.set(text, resolve));
  yield completed();
};

/** Tasks of the agent `counting` take eight seconds. */
const counting: Agent["execute"] = async function* () {
  for (let i = 0; i < 50; i++) {
    yield artifact({ name: "numbers", text: `${i} `, append: true });
    await new Promise((resolve) => setTimeout(resolve, 160));
  }
  yield completed();
};

let issuer: OidcIssuer;
let world: SecuredWorld;
const url = (): string => world.address.url;

beforeAll(async () => {
  issuer = await OidcIssuer.start(registered);
  const at = issuer.url;
  const named = {
    issuer: at,
    audience: AUDIENCE,
    clockTolerance: 0,
    owner: (c: Record<string, unknown>) => `${c.client_id} ${c.sub}`,
  };
  const scopes = { read: "Read.", write: "Write." };
  const flows: Record<string, OAuth2SchemeOptions["flows"]> = {
    machine: { clientCredentials: { tokenUrl: `${at}/token`, scopes } },
    device: { deviceCode: { tokenUrl: `${at}/token`, deviceAuthorizationUrl: `${at}/device/auth`, scopes } },
    code: { authorizationCode: { tokenUrl: `${at}/token`, authorizationUrl: `${at}/auth`, scopes } },
  };
  const agentOf = (it: ReturnType<typeof oauth2Scheme>, scope = "read") => ({
    ...obedient("secured"),
    security: { schemes: { it }, require: [{ it: [scope] }] },
  });
  const oauth = Object.entries(flows).map(([name, each]) => [name, agentOf(oauth2Scheme({ ...named, flows: each }))]);
  setConstantsOfFile(issuerBounds, { cooldownMs: 1 });
  world = await secured({
    agents: {
      ...Object.fromEntries(oauth),
      oidc: agentOf(openIdConnectScheme(named)),
      admin: agentOf(openIdConnectScheme(named), "admin"),
      long: { ...agentOf(openIdConnectScheme(named)), execute: long },
      counting: { ...agentOf(openIdConnectScheme(named)), execute: counting },
    },
    limits: { expiredStreamGraceMs: 0, credentialMemoryMs: 1 },
  });
});
afterAll(async () => {
  await world?.close();
  await issuer?.stop();
});

const local = { resource: AUDIENCE, allowLocalIssuer: true } as const;
const secretOf = (id: string): Pick<OAuthOptions, "clientId" | "clientSecret"> => ({
  clientId: id,
  clientSecret: String(registered.find(({ client_id }) => client_id === id)?.client_secret),
});

async function ask(binding: string, tenant: string, credentials: Credential, http = overFetch(fetch)) {
  const card = await cardAt(`${url()}/${tenant}`);
  const driver = world.drivers.get(binding) as Driver;
  const reply = await callWith(driver, { card, url: url(), credentials, http }, { tenant, ...say("turn") } as never);
  return { ...reply, owner: /"owner":"([^"]*)"/.exec(JSON.stringify(reply.message ?? {}))?.[1] };
}

const bindingNames = ["grpc", "grpc-http", "connect", "grpc-web", "jsonrpc", "rest"];

describe.each([
  ["machine", {}],
  ["oidc", {}],
  ["machine", { issuer: "pinned" }],
])("clientCredentials() for the agent %s %j", (tenant, { issuer: pinned }: { issuer?: string }) => {
  const more = (): Partial<OAuthOptions> => ({ ...local, ...(pinned !== undefined && { issuer: issuer.url }) });

  it.each(bindingNames)("lets calls in over %s, all of them with one token", async (binding) => {
    const credential = clientCredentials({ ...secretOf("by-basic"), ...more() });
    const before = issuer.count("/token");
    const replies = await Promise.all([1, 2, 3, 4, 5].map(() => ask(binding, tenant, credential)));
    expect(replies.map(({ owner, tries }) => [owner, tries])).toEqual(Array(5).fill(["by-basic by-basic", 1]));
    expect(issuer.count("/token")).toBe(before + 1);
  });

  it("by a secret in the body", async () => {
    const credential = clientCredentials({ ...secretOf("by-post"), ...more(), secretIn: "post" });
    expect((await ask("rest", tenant, credential)).owner).toBe("by-post by-post");
  });

  it("by a private key", async () => {
    const privateKey = { key: pair.privateKey, kid: "of the client" };
    const credential = clientCredentials({ clientId: "by-key", privateKey, ...more() });
    expect((await ask("rest", tenant, credential)).owner).toBe("by-key by-key");
  });

  it("is refused with the wrong secret, which nothing shows", async () => {
    const credential = clientCredentials({ clientId: "by-basic", clientSecret: "wrong-wrong", ...more() });
    const failure = await ask("rest", tenant, credential).catch((error: unknown) => error);
    expect(failure).toMatchObject({ reason: "UNAUTHENTICATED", message: expect.stringContaining("invalid_client") });
    const shown = inspect([failure, credential], { depth: 20, showHidden: true });
    expect(shown).not.toMatch(new RegExp(`wrong-wrong|${btoa("by-basic:wrong-wrong").slice(14)}`));
  });
});

async function signedIn(tenant: string, options: Partial<Parameters<typeof authorizationCode>[0]> = {}) {
  const storage = new Map<string, string>();
  const tokens = new Map<string, string>();
  const make = () =>
    authorizationCode({
      clientId: "page",
      redirectUri: "https://page.example/back",
      ...local,
      storage,
      tokens,
      scopes: ["openid", "offline_access"],
      authorizationParameters: { prompt: "consent" },
      ...options,
    });
  const card = await cardAt(`${url()}/${tenant}`);
  const page = await make().begin({ card, interface: { url: url() } });
  const { url: back } = await new PlainBrowser().open(page, "https://page.example/back");
  return { make, back, storage, tokens, page };
}

describe.each(["code", "oidc"])("authorizationCode() for the agent %s", (tenant) => {
  it("signs a user in, in two steps that share nothing but the storage", async () => {
    const { make, back, storage, tokens, page } = await signedIn(tenant);
    expect(page.searchParams.get("code_challenge_method")).toBe("S256");
    expect(storage.size).toBe(1);
    const credential = make();
    await expect(ask("rest", tenant, credential)).rejects.toMatchObject({ metadata: { signIn: "required" } });
    expect(await credential.finish("https://page.example/")).toBe(false);
    expect(await credential.finish(back)).toBe(true);
    expect(storage.size).toBe(0);
    for (const binding of bindingNames) expect((await ask(binding, tenant, credential)).owner).toBe("page alice");
    // Another credential finds the tokens in the store.
    expect(tokens.size).toBe(1);
    expect((await ask("rest", tenant, make())).owner).toBe("page alice");
    // The answer is valid once.
    await expect(credential.finish(back)).rejects.toMatchObject({ reason: "UNAUTHENTICATED" });
  });
});

describe("authorizationCode()", () => {
  it("is refused where the user says no, and where an answer is forged", async () => {
    issuer.user = "refuses";
    const refused = await signedIn("code");
    issuer.user = "agrees";
    await expect(refused.make().finish(refused.back)).rejects.toMatchObject({
      reason: "UNAUTHENTICATED",
      message: expect.stringContaining("access_denied"),
    });
    const { make, back, storage } = await signedIn("oidc");
    const forged = new URL(back);
    forged.searchParams.set("state", "another");
    await expect(make().finish(forged)).rejects.toMatchObject({ reason: "UNAUTHENTICATED" });
    const mixed = new URL(back);
    mixed.searchParams.set("iss", "https://other.example");
    await expect(make().finish(mixed)).rejects.toMatchObject({ reason: "UNAUTHENTICATED" });
    expect(storage.size).toBe(0);
  });

  it("is refused where another verifier is in the storage: the code is good for nobody else", async () => {
    const { make, back, storage } = await signedIn("code");
    for (const [key, text] of storage) {
      storage.set(key, JSON.stringify({ ...JSON.parse(text), verifier: "v".repeat(43) }));
    }
    const code = new URL(back).searchParams.get("code") ?? "";
    const failure: unknown = await make()
      .finish(back)
      .catch((error: unknown) => error);
    expect(failure).toMatchObject({ reason: "UNAUTHENTICATED", metadata: { issuerError: "invalid_grant" } });
    expect(inspect(failure, { depth: 20, showHidden: true })).not.toContain(code);
  });
});

describe("deviceCode()", () => {
  const device = (prompt: (prompt: DevicePrompt) => void | Promise<void>, more: Partial<OAuthOptions> = {}) =>
    deviceCode({ clientId: "television", ...local, scopes: ["openid", "offline_access"], prompt, ...more });

  /** Confirms the code in a browser, as the user. */
  async function agree({ verificationUri, userCode }: DevicePrompt): Promise<void> {
    const browser = new PlainBrowser();
    const confirm = await browser.submit(await browser.open(verificationUri), { user_code: userCode });
    await browser.submit(confirm, { confirm: "yes" });
  }

  it("waits for the user, who is asked once for all calls", async () => {
    const prompts: DevicePrompt[] = [];
    const credential = device((prompt) => {
      prompts.push(prompt);
      void agree(prompt);
    });
    const replies = await Promise.all(bindingNames.map((binding) => ask(binding, "device", credential)));
    expect(replies.map(({ owner }) => owner)).toEqual(bindingNames.map(() => "television alice"));
    expect(prompts).toHaveLength(1);
    expect(prompts[0]).toMatchObject({ verificationUriComplete: expect.stringContaining(prompts[0]?.userCode ?? "?") });
  });

  it("fails where the user says no", async () => {
    issuer.user = "refuses";
    const refused = ask("rest", "device", device(agree));
    await expect(refused).rejects.toMatchObject({
      reason: "UNAUTHENTICATED",
      metadata: { issuerError: "access_denied" },
    });
    issuer.user = "agrees";
  });

  it("asks the issuer no more when all calls are given up", async () => {
    const card = await cardAt(`${url()}/device`);
    const controller = new AbortController();
    const credential = device(() => controller.abort());
    const [name = "", scheme] = Object.entries(card.securitySchemes)[0] ?? [];
    const target = { header: new Headers(), addQuery: () => {} };
    const context = {
      card,
      name,
      scheme: scheme!,
      scopes: ["read"],
      url: url(),
      http: overFetch(fetch),
      signal: controller.signal,
    };
    const before = issuer.count("/token");
    await expect(credential.apply(target, context)).rejects.toMatchObject({ reason: "CANCELLED" });
    await new Promise((resolve) => setTimeout(resolve, 6_500));
    expect(issuer.count("/token")).toBe(before);
  });
});

describe("tokens", () => {
  const fresh = (more: Partial<OAuthOptions> = {}) => clientCredentials({ ...secretOf("by-basic"), ...local, ...more });

  it.each(bindingNames)(
    "that the server takes no more are fetched again, once for all calls, over %s",
    async (binding) => {
      const credential = fresh();
      await ask(binding, "machine", credential);
      const before = issuer.count("/token");
      await issuer.rotate({ keepOld: false });
      // The server keeps the old keys until a token names a new one.
      const other = await ask("rest", "machine", fresh());
      expect(other.owner).toBe("by-basic by-basic");
      const replies = await Promise.all([1, 2, 3, 4].map(() => ask(binding, "machine", credential)));
      expect(replies.map(({ owner, tries }) => [owner, tries])).toEqual(Array(4).fill(["by-basic by-basic", 2]));
      expect(issuer.count("/token") - before).toBe(2);
    },
  );

  it("stay good while the issuer rotates its keys", async () => {
    const credential = fresh();
    for (let i = 0; i < 4; i++) {
      expect(await ask("rest", "oidc", credential)).toMatchObject({ owner: "by-basic by-basic", tries: 1 });
      await issuer.rotate();
    }
  });

  it("are used while the issuer is down, and calls without one fail as UNAVAILABLE until it is back", async () => {
    const [credential, other] = [fresh(), fresh({ limits: { issuerCooldownMs: 0 } })];
    await ask("rest", "machine", credential);
    await issuer.stop();
    try {
      expect((await ask("rest", "machine", credential)).owner).toBe("by-basic by-basic");
      await expect(ask("rest", "machine", other)).rejects.toMatchObject({ reason: "UNAVAILABLE" });
    } finally {
      await issuer.startAgain();
    }
    expect((await ask("rest", "machine", other)).owner).toBe("by-basic by-basic");
  });

  it("of an issuer that is slow are waited for so long and no longer", async () => {
    let open = (): void => {};
    issuer.gate = new Promise((resolve) => {
      open = resolve;
    });
    const slow = fresh({ limits: { issuerTimeoutMs: 300, issuerCooldownMs: 0 } });
    await expect(ask("rest", "machine", slow)).rejects.toMatchObject({ reason: "UNAVAILABLE" });
    open();
    expect((await ask("rest", "machine", slow)).owner).toBe("by-basic by-basic");
  });

  it.each(bindingNames)("get the scopes that a server asks for, over %s", async (binding) => {
    // The client uses the card of another agent, which requires fewer scopes.
    const credential = fresh();
    const card = await cardAt(`${url()}/oidc`);
    const call = { card, url: url(), credentials: credential, http: overFetch(fetch) };
    const request = { tenant: "admin", ...say("turn") } as never;
    const driver = world.drivers.get(binding) as Driver;
    const before = issuer.count("/token");
    expect(await callWith(driver, call, request)).toMatchObject({ tries: 2, message: expect.anything() });
    // The next call requests the additional scopes.
    expect(await callWith(driver, call, request)).toMatchObject({ tries: 1, message: expect.anything() });
    expect(issuer.count("/token") - before).toBe(2);
  });

  it("that lack scopes which the issuer does not give are no reason to try for ever", async () => {
    const card = await cardAt(`${url()}/admin`);
    const call = { card, url: url(), credentials: fresh(), http: overFetch(fetch) };
    const error = new A2AError("PERMISSION_DENIED", "No.", { metadata: { scope: "beyond" } });
    const shown = showing(call);
    await shown.attempt();
    const before = issuer.count("/token");
    const answers = [
      await shown.again(error).catch(({ reason }) => reason),
      await shown.again(error).catch(({ reason }) => reason),
    ];
    expect(answers).not.toContain(true);
    expect(issuer.count("/token") - before).toBeLessThan(3);
  });
});

/* Most of these tests wait. Each has its own client, so that they can run concurrently. */
describe("tokens that last for seconds", () => {
  const opened: A2AClient[] = [];
  afterAll(() => Promise.all(opened.map((client) => client.close())));

  const fresh = (seconds: number): { readonly id: string; readonly credential: Credential } => {
    const id = shortLived.pop() ?? expect.fail("There are too few clients.");
    issuer.secondsOf.set(id, seconds);
    return { id, credential: clientCredentials({ ...secretOf(id), ...local, secretIn: "post" }) };
  };

  const clientOf = async (seconds: number, binding: Binding): Promise<{ id: string; client: A2AClient }> => {
    const { id, credential: credentials } = fresh(seconds);
    const client = await connect(`${url()}/counting`, { credentials, bindings: [binding] });
    opened.push(client);
    return { id, client };
  };

  it.concurrent("are renewed by refresh tokens, which change each time, also when several processes share the store", async () => {
    issuer.secondsOf.set("page", 6);
    const { make, back, tokens } = await signedIn("code", { limits: { refusalMs: 0 } });
    const [one, other] = [make(), make()];
    await one.finish(back);
    expect((await ask("rest", "code", other)).owner).toBe("page alice");
    const seen = new Set<string>();
    while (seen.size < 4) {
      const replies = await Promise.all([one, other, one, other].map((each) => ask("rest", "code", each)));
      expect(replies.map(({ owner }) => owner)).toEqual(Array(4).fill("page alice"));
      for (const text of tokens.values()) seen.add(JSON.parse(text).refreshToken);
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  });

  it.concurrent("are renewed ahead of their end, and no call is refused", async () => {
    // A renewal happens at half of the token's life, which leaves time for a round of calls on a busy machine.
    const { id, credential } = fresh(6);
    const begin = Date.now();
    while (issuer.count("/token", id) < 4) {
      const replies = await Promise.all(bindingNames.map((binding) => ask(binding, "machine", credential)));
      expect(replies.map(({ owner, tries }) => [owner, tries])).toEqual(bindingNames.map(() => [`${id} ${id}`, 1]));
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    // No token was renewed before a third of its life.
    expect(Date.now() - begin).toBeGreaterThan(6_000);
  });

  it.concurrent.each(bindingNames)(
    "run out over %s in the middle of a stream: its call is refused, and a new one goes on with a new token",
    async (binding) => {
      const { id: client, credential } = fresh(6);
      const driver = world.drivers.get(binding) as Driver;
      const call = { card: await cardAt(`${url()}/long`), url: url(), credentials: credential, http: overFetch(fetch) };
      const stream = driver.stream(
        "SendStreamingMessage",
        { tenant: "long", ...say(client) } as never,
        await showing(call).attempt(),
      );
      const first = (await stream.next()) as { message: { task: { id: string } } };
      const { error } = await stream.rest();
      expect(error?.reason).toBe("UNAUTHENTICATED");
      issuer.secondsOf.set(client, 600);
      const { id } = first.message.task;
      const again = driver.stream("SubscribeToTask", { tenant: "long", id }, await showing(call).attempt());
      expect(await again.next()).toMatchObject({ message: { task: { id } } });
      ends.get(client)?.();
      const { error: none, messages } = await again.rest();
      expect([none, JSON.stringify(messages)]).toEqual([undefined, expect.stringContaining("TASK_STATE_COMPLETED")]);
    },
  );

  it.concurrent.each(bindingNames)(
    "run out over %s in the middle of a long send: its answer comes",
    async (binding) => {
      const { id, credential } = fresh(6);
      const driver = world.drivers.get(binding) as Driver;
      const call = { card: await cardAt(`${url()}/long`), url: url(), credentials: credential, http: overFetch(fetch) };
      const sent = callWith(driver, call, { tenant: "long", ...say(id) } as never);
      await new Promise((resolve) => setTimeout(resolve, 7_000));
      ends.get(id)?.();
      issuer.secondsOf.set(id, 600);
      expect(await sent).toMatchObject({ tries: 1, message: { task: { status: { state: "TASK_STATE_COMPLETED" } } } });
      // The credential has another token for the next call.
      expect((await ask(binding, "machine", credential)).owner).toBe(`${id} ${id}`);
    },
  );

  it.concurrent.each(bindings)(
    "run out under a client over %s, which goes on with its stream and misses nothing",
    async (binding) => {
      const { id, client } = await clientOf(3, binding);
      let text = "";
      for await (const update of client.stream("count")) text += update.text;
      expect(text).toBe(Array.from({ length: 50 }, (_, i) => `${i} `).join(""));
      // The stream lasted longer than two tokens.
      expect(issuer.count("/token", id)).toBeGreaterThan(2);
    },
  );

  it.concurrent.each(bindings)(
    "run out under a client over %s, which waits for its answer for longer",
    async (binding) => {
      const { client } = await clientOf(3, binding);
      const { state } = await client.send("count");
      expect(state).toBe(TaskState.COMPLETED);
      expect((await client.listTasks({})).totalSize).toBeGreaterThan(0);
    },
  );
});

describe.each(bindings)("a client over %s", (binding) => {
  const opened: A2AClient[] = [];
  afterEach(async () => {
    for (const client of opened.splice(0)) await client.close();
  });
  const clientOf = async (tenant: string, options: Partial<OAuthOptions> = {}): Promise<A2AClient> => {
    const credentials = clientCredentials({ ...secretOf("by-basic"), ...local, ...options });
    const client = await connect(`${url()}/${tenant}`, { credentials, bindings: [binding] });
    opened.push(client);
    return client;
  };

  it("sends, with a token that it got by itself", async () => {
    const client = await clientOf("machine");
    expect(inspect(await client.send("turn"), { depth: 30 })).toContain("by-basic");
  });

  it("calls once more when the server takes its token no more", async () => {
    const client = await clientOf("machine");
    await client.send("turn");
    await issuer.rotate({ keepOld: false });
    // The server keeps the old keys until a token names a new one.
    await (await clientOf("machine")).send("turn");
    const before = issuer.count("/token");
    expect(inspect(await client.send("turn"), { depth: 30 })).toContain("by-basic");
    expect(issuer.count("/token") - before).toBe(1);
  });

  it("says what is wrong when it gets no token", async () => {
    const client = await clientOf("machine", { clientSecret: "wrong-wrong" });
    const failure: unknown = await client.send("turn").catch((error: unknown) => error);
    expect(failure).toMatchObject({ reason: "UNAUTHENTICATED", message: expect.stringContaining("invalid_client") });
    expect(inspect(failure, { depth: 20, showHidden: true })).not.toContain("wrong-wrong");
  });
});
