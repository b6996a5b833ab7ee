import { generateKeyPairSync } from "node:crypto";
import { describe, expect, it } from "vitest";
import type { Agent } from "../../src/agent/agent.js";
import { apiKeyScheme, httpBearerScheme } from "../../src/auth/index.js";
import { verifyCard } from "../../src/card/index.js";
import type { A2AClient } from "../../src/client/client.js";
import { apiKey } from "../../src/client/credentials/api-key.js";
import { bearer } from "../../src/client/credentials/bearer.js";
import { bindings } from "../../src/client/discovery/interfaces.js";
import type { ClientOptions } from "../../src/client/options.js";
import type { A2AError } from "../../src/core/error.js";
import type { ServerOptions } from "../../src/server/options.js";
import { type CardServer, cardJson, serveCards } from "./card-server.js";
import { connect, echo, serve } from "./world.js";

type Json = Record<string, unknown>;
type Interface = { url: string; protocolBinding: string; protocolVersion: string };

const failure = (call: Promise<unknown>): Promise<A2AError> =>
  call.then(
    () => expect.fail("it did not fail"),
    (error) => error,
  );

async function jsonAt(url: string): Promise<Json> {
  return (await (await fetch(`${url}/.well-known/agent-card.json`)).json()) as Json;
}

const interfacesOf = (card: Json): Interface[] => (card.supportedInterfaces as Interface[]).slice();

/** Serves an agent that requires credentials on a host. Records the secrets that it receives. */
async function guarded(host: string, more: Partial<Agent> = {}, options: Partial<ServerOptions> = {}) {
  const shown: string[] = [];
  const check = (secret: string) => {
    shown.push(secret);
    return { owner: "me" };
  };
  const security = {
    schemes: { bearer: httpBearerScheme({ check }), key: apiKeyScheme({ in: "header", name: "x-key", check }) },
    require: ["bearer", "key"],
  };
  const server = await serve({ agent: { ...echo, security, ...more } as Agent, host, ...options });
  return { url: server.url, shown, card: await jsonAt(server.url) };
}

const cardOn127001 = (card: unknown): Promise<CardServer> =>
  serveCards((_, response) => response.setHeader("content-type", "application/json").end(JSON.stringify(card)));

/** A client whose card is on 127.0.0.1 and has only interfaces on 127.0.0.2. */
async function acrossHosts(options: ClientOptions) {
  const there = await guarded("127.0.0.2");
  const { url } = await cardOn127001(there.card);
  const client = await connect(url, options);
  return { client, shown: there.shown };
}

const refusal = {
  reason: "UNAUTHENTICATED",
  message:
    "The agent's card of localhost has an interface on 127.0.0.2, and credentials are not sent to hosts that only a card " +
    'names: allow the host (credentialHosts: ["127.0.0.2"]), or verify the card\'s signature (card.verify).',
  metadata: { untrustedHost: "127.0.0.2" },
};

async function refuses({ client, shown }: { client: A2AClient; shown: readonly string[] }, headers = {}) {
  const streamed = async () => {
    for await (const _ of client.stream("count", { headers })) expect.fail("an event came");
  };
  for (const call of [client.send("say hi", { headers }), client.listTasks({}, { headers }), streamed()]) {
    expect(await failure(call)).toMatchObject(refusal);
  }
  expect(shown).toEqual([]);
}

describe.each(bindings)("a card that names another host over %s", (binding) => {
  const only = { bindings: [binding] };

  it("does not get it the caller's credentials", async () => {
    for (const credentials of [bearer("t"), apiKey("k"), { bearer: bearer(async () => "t") }]) {
      await refuses(await acrossHosts({ ...only, credentials }));
    }
  });

  it("does not get it those of headers and interceptors", async () => {
    for (const name of ["Authorization", "Cookie", "X-Key"]) {
      await refuses(await acrossHosts(only), { [name]: "secret" });
      const interceptors: ClientOptions["interceptors"] = [
        (next) => (request) => {
          request.header.set(name, "secret");
          return next(request);
        },
      ];
      await refuses(await acrossHosts({ ...only, interceptors }));
    }
  });

  it("is called there without any", async () => {
    const there = await serve({ host: "127.0.0.2" });
    const { url } = await cardOn127001(await jsonAt(there.url));
    const client = await connect(url, { ...only, credentials: bearer("t") });
    expect((await client.send("say hi", { headers: { "x-other": "v" } })).text).toBe("hi");
  });

  it("gets it credentials that the caller allows, and no others", async () => {
    const credentials = bearer("t");
    const { client, shown } = await acrossHosts({ ...only, credentials, credentialHosts: ["127.0.0.2"] });
    expect((await client.send("say hi")).text).toBe("hi");
    expect(shown).toEqual(["t"]);
    for (const host of ["127.0.0.3", "localhost", "example"]) {
      await refuses(await acrossHosts({ ...only, credentials, credentialHosts: [host] }));
    }
  });

  it("gets it credentials by a signature that the caller trusts", async () => {
    const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const cardSigning = { keys: [{ kid: "k", key: privateKey.export({ format: "pem", type: "pkcs8" }) as string }] };
    const there = await guarded("127.0.0.2", {}, { cardSigning });
    const { url } = await cardOn127001(there.card);
    const keys = { keys: [{ ...publicKey.export({ format: "jwk" }), kid: "k", alg: "ES256" }] };
    const verify = (card: string) => verifyCard(card, { keys: keys.keys as never });
    const client = await connect(url, { ...only, credentials: bearer("t"), card: { cache: false, verify } });
    expect((await client.send("say hi")).text).toBe("hi");
    expect(there.shown).toEqual(["t"]);
  });

  it("is the caller's own word where the caller gives it, and no hosts", async () => {
    const { card, shown } = await guarded("127.0.0.2");
    const credentials = bearer("t");
    expect((await (await connect(card, { ...only, credentials })).send("say hi")).text).toBe("hi");
    const client = await connect(card, { ...only, credentials, credentialHosts: ["127.0.0.3"] });
    shown.length = 0;
    expect(await failure(client.send("say hi"))).toMatchObject({ metadata: { untrustedHost: "127.0.0.2" } });
    expect(shown).toEqual([]);
  });

  it("is not trusted more where a redirect leads to that host", async () => {
    const there = await guarded("127.0.0.2");
    const { url } = await serveCards((_, response) => {
      response.writeHead(302, { location: `${there.url}/.well-known/agent-card.json` }).end();
    });
    const client = await connect(url, { ...only, credentials: bearer("t") });
    await refuses({ client, shown: there.shown });
  });

  it("is called on its own host where it has that as well", async () => {
    const there = await guarded("127.0.0.2");
    const here = await guarded("127.0.0.1");
    const supportedInterfaces = [...interfacesOf(there.card), ...interfacesOf(here.card)];
    const { url } = await cardOn127001({ ...here.card, supportedInterfaces });
    const client = await connect(url, { ...only, credentials: bearer("t") });
    expect((await client.send("say hi")).text).toBe("hi");
    expect([there.shown, here.shown]).toEqual([[], ["t"]]);
    expect(client.interface.url).toContain("127.0.0.1");
  });

  it("gets nothing by an extended card either", async () => {
    const there = await guarded("127.0.0.2");
    const extended = { ...there.card, name: "Extended" };
    const here = await guarded("127.0.0.1", { extendedCard: { name: "Extended" } as never });
    const { url } = await cardOn127001(here.card);
    const client = await connect(url, {
      ...only,
      credentials: bearer("t"),
      interceptors: [
        (next) => async (request) => {
          const response = await next(request);
          if (request.method.name !== "GetExtendedAgentCard" || response.stream) return response;
          const message = { ...response.message, supportedInterfaces: interfacesOf(extended) } as never;
          return { ...response, message };
        },
      ],
    });
    expect((await client.extendedCard()).name).toBe("Extended");
    await refuses({ client, shown: there.shown });
  });
});

describe("a card's own host", () => {
  it.each([
    ["localhost", "127.0.0.1"],
    ["127.0.0.1", "localhost"],
  ])("is %s where the interfaces are on %s, on any port", async (asked, named) => {
    const here = await guarded("127.0.0.1");
    const supportedInterfaces = interfacesOf(here.card).map((each) => ({
      ...each,
      url: each.url.replace("127.0.0.1", named),
    }));
    const { url } = await cardOn127001({ ...here.card, supportedInterfaces });
    for (const binding of bindings) {
      const options = { bindings: [binding], credentials: bearer("t") };
      const client = await connect(url.replace("127.0.0.1", asked), options);
      expect((await client.send("say hi")).text, binding).toBe("hi");
    }
  });

  it.each(["a.example.evil.test", "b.a.example", "a-example", "127.0.0.1.nip.example"])("is not %s", async (host) => {
    const securitySchemes = { b: { httpAuthSecurityScheme: { scheme: "bearer" } } };
    const supportedInterfaces = [
      { url: `https://${host}/rpc`, protocolBinding: "JSONRPC", protocolVersion: "1.0" },
      { url: `${host}:50051`, protocolBinding: "GRPC", protocolVersion: "1.0" },
    ];
    const { url } = await cardOn127001(cardJson({ securitySchemes, supportedInterfaces }));
    for (const binding of ["JSONRPC", "GRPC"] as const) {
      const client = await connect(url, { bindings: [binding], credentials: bearer("t"), allowHttp: true });
      expect(await failure(client.listTasks({}))).toMatchObject({ metadata: { untrustedHost: host } });
    }
  });
});

describe("credentialHosts", () => {
  it.each(["", "https://a.example", "a.example/", "a.example:443", "user@a.example", "a example", "[::1", "a?b", 1])(
    "rejects %j",
    async (host) => {
      const error = await failure(connect(cardJson(), { credentialHosts: [host as string] }));
      expect(error).toMatchObject({ reason: "INVALID_PARAMS", violations: [{ field: "credentialHosts" }] });
    },
  );

  it.each(["a.example", "A.example.", "münchen.example", "127.0.0.1", "[::1]"])("takes %s", async (host) => {
    await connect(cardJson(), { credentialHosts: [host] });
  });
});
