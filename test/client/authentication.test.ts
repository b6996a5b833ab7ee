import { afterAll, describe, expect, it } from "vitest";
import type { Agent } from "../../src/agent/agent.js";
import { apiKeyScheme, httpBasicScheme, httpBearerScheme, mutualTlsScheme } from "../../src/auth/index.js";
import type { AgentSecurity } from "../../src/auth/security.js";
import { apiKey } from "../../src/client/credentials/api-key.js";
import { basic } from "../../src/client/credentials/basic.js";
import { bearer } from "../../src/client/credentials/bearer.js";
import type { Credential } from "../../src/client/credentials/credential.js";
import { type Binding, bindings } from "../../src/client/discovery/interfaces.js";
import type { A2AError } from "../../src/core/error.js";
import type { ServerOptions } from "../../src/server/options.js";
import { Certificates } from "../server/certificates.js";
import { testTls } from "../server/tls.js";
import { cardJson, serveCards } from "./card-server.js";
import { connect, echo, serve } from "./world.js";

const failure = (call: Promise<unknown>): Promise<A2AError> =>
  call.then(
    () => expect.fail("it did not fail"),
    (error) => error,
  );

const named = { name: "Keeper", description: "Keeps books.", version: "1.0.0" };
const skills = [{ id: "books", name: "Books", description: "Keeps books.", tags: ["books"] }];

/** Tokens that are valid now. */
const good = new Set<string>(["fresh"]);

const secured = (security: AgentSecurity, options: Partial<ServerOptions> = {}) =>
  serve({ agent: { ...echo, security } as Agent, ...options });

const tokens = (): AgentSecurity => ({
  schemes: { bearer: httpBearerScheme({ check: (token) => (good.has(token) ? { owner: token } : undefined) }) },
});

const certificates = new Certificates();
afterAll(() => certificates.clean());

describe.each(bindings)("credentials over %s", (binding: Binding) => {
  const only = { bindings: [binding] };

  it("go where the card says, and let their caller in", async () => {
    const check = () => ({ owner: "me" });
    for (const [scheme, credential] of [
      [httpBearerScheme({ check }), bearer("t")],
      [httpBasicScheme({ check }), basic("name", "password")],
      [apiKeyScheme({ in: "header", name: "x-key", check }), apiKey("k")],
      [apiKeyScheme({ in: "cookie", name: "key", check }), apiKey("k")],
      ...(binding === "GRPC" ? [] : [[apiKeyScheme({ in: "query", name: "key", check }), apiKey("a&b=c")] as const]),
    ] as const) {
      const server = await secured({ schemes: { one: scheme } });
      const client = await connect(server.url, { ...only, credentials: credential });
      expect((await client.send("say hi")).text, scheme.toString()).toBe("hi");
      expect((await client.listTasks({})).totalSize).toBe(0);
      let text = "";
      for await (const update of client.stream("count")) text += update.text;
      expect(text).toBe("one two three");
    }
  });

  it("are asked for once more when they are refused, and the call is made once more", async () => {
    const server = await secured(tokens());
    const given: boolean[] = [];
    const credentials = bearer(({ refused }) => {
      given.push(refused);
      return given.includes(true) ? "fresh" : "stale";
    });
    const client = await connect(server.url, { ...only, credentials });
    expect((await client.listTasks({})).totalSize).toBe(0);
    expect(given).toEqual([false, true]);
  });

  it("are renewed for a stream as well", async () => {
    const server = await secured(tokens());
    let isStale = true;
    const credentials = bearer(({ refused }) => {
      if (refused) isStale = false;
      return isStale ? "stale" : "fresh";
    });
    const client = await connect(server.url, { ...only, credentials });
    const cases = [];
    const message = { messageId: "m", role: 1, parts: [{ content: { case: "text" as const, value: "count" } }] };
    for await (const { payload } of client.sendStreamingMessage({ message })) cases.push(payload.case);
    expect(cases.at(-1)).toBe("statusUpdate");
    expect(isStale).toBe(false);
  });

  it("are refused for good when the second try is", async () => {
    const server = await secured(tokens());
    let calls = 0;
    const client = await connect(server.url, { ...only, credentials: bearer(() => `stale-${++calls}`) });
    const error = await failure(client.listTasks({}));
    expect(error).toMatchObject({ reason: "UNAUTHENTICATED" });
    expect(calls).toBe(2);
    const text = await connect(server.url, { ...only, credentials: bearer("stale") });
    expect(await failure(text.listTasks({}))).toMatchObject({ reason: "UNAUTHENTICATED" });
    const loop = async () => {
      for await (const _ of text.stream("count")) expect.fail("nobody was let in");
    };
    expect(await failure(loop())).toMatchObject({ reason: "UNAUTHENTICATED" });
  });

  it("say what is missing where they are not those that the agent asks for", async () => {
    const server = await secured(tokens());
    const client = await connect(server.url, { ...only, credentials: apiKey("k") });
    expect(await failure(client.listTasks({}))).toMatchObject({
      reason: "UNAUTHENTICATED",
      message: expect.stringContaining('"bearer" (HTTP authentication, '),
    });
    const without = await connect(server.url, only);
    expect(await failure(without.listTasks({}))).toMatchObject({ reason: "UNAUTHENTICATED" });
  });

  it("are those of the skill that a call names", async () => {
    const shown: string[] = [];
    const check = (secret: string) => {
      shown.push(secret);
      return { owner: "me" };
    };
    const server = await serve({
      agent: {
        ...echo,
        card: { ...named, skills },
        security: {
          schemes: { bearer: httpBearerScheme({ check }), key: apiKeyScheme({ in: "header", name: "x-key", check }) },
          require: ["bearer"],
          skills: { books: { require: ["key"] } },
          skillOf: (message) => message.metadata?.skill as string | undefined,
        },
      },
    });
    const credentials = { bearer: bearer("token"), key: apiKey("key") };
    const client = await connect(server.url, { ...only, credentials });
    const message = (parts: string) => ({ parts, metadata: { skill: "books" } });

    expect(await failure(client.send(message("say hi")))).toMatchObject({ reason: "UNAUTHENTICATED" });
    expect(new Set(shown)).toEqual(new Set(["token"]));
    expect((await client.send(message("say hi"), { skill: "books" })).text).toBe("hi");
    expect((await client.conversation().send(message("say hi"), { skill: "books" })).text).toBe("hi");
    let text = "";
    for await (const update of client.stream(message("count"), { skill: "books" })) text += update.text;
    expect(text).toBe("one two three");
    expect(new Set(shown)).toEqual(new Set(["token", "key"]));

    shown.length = 0;
    expect((await client.send("say hi", { skill: "none" })).text).toBe("hi");
    expect((await client.send("say hi")).text).toBe("hi");
    expect(new Set(shown)).toEqual(new Set(["token"]));

    const poor = await connect(server.url, { ...only, credentials: bearer("token") });
    expect(await failure(poor.send(message("say hi"), { skill: "books" }))).toMatchObject({
      reason: "UNAUTHENTICATED",
      message: expect.stringContaining(' with "key" '),
    });
    expect((await poor.send("say hi")).text).toBe("hi");
  });

  it("are those of a skill at an agent that asks for none otherwise", async () => {
    const server = await serve({
      agent: {
        ...echo,
        card: { ...named, skills },
        security: {
          schemes: { key: apiKeyScheme({ in: "header", name: "x-key", check: (key) => ({ owner: key }) }) },
          require: [{}],
          skills: { books: { require: ["key"] } },
          skillOf: (message) => message.metadata?.skill as string | undefined,
        },
      },
    });
    const client = await connect(server.url, { ...only, credentials: apiKey("key") });
    const message = { parts: "wait", metadata: { skill: "books" } };
    for await (const update of client.stream(message, { skill: "books" })) {
      // Only the skill's credentials identify the caller that owns the task.
      const taskId = update.task?.id ?? "";
      for await (const { task } of client.follow(taskId, { skill: "books" })) {
        expect(task?.id).toBe(taskId);
        break;
      }
      break;
    }
  });

  it("are a certificate where the agent asks for that", async () => {
    const { cert, key } = certificates.make("nightly");
    const server = await secured({ schemes: { mtls: mutualTlsScheme() } }, { tls: { ...testTls, ca: cert } });
    const url = `https://localhost:${server.port}`;
    const client = await connect(url, { ...only, tls: { ca: testTls.cert, cert, key } });
    expect((await client.listTasks({})).totalSize).toBe(0);
    // Certificates may also be bytes, as read from files.
    const asBytes = { ca: [Buffer.from(testTls.cert)], cert: Buffer.from(cert), key: Buffer.from(key) };
    expect((await (await connect(url, { ...only, tls: asBytes })).listTasks({})).totalSize).toBe(0);
    const without = await connect(url, { ...only, tls: { ca: testTls.cert } });
    expect(await failure(without.listTasks({}))).toMatchObject({ reason: "UNAUTHENTICATED" });
  });
});

describe("credentials", () => {
  const showing: Credential = { fits: () => true, apply: ({ header }) => header.set("x-secret", "s") };
  const schemes = {
    securitySchemes: { key: { apiKeySecurityScheme: { location: "header", name: "x-key" } } },
    securityRequirements: [{ schemes: { key: { list: [] } } }],
  };

  it("go with no request for a card", async () => {
    const server = await serveCards((_, response) => response.end(JSON.stringify(cardJson(schemes))));
    await connect(server.url, { credentials: showing, card: { cache: false } });
    expect(server.got[0]?.headers).not.toHaveProperty("x-secret");
  });

  it("do not follow a redirect", async () => {
    const other = await serveCards((_, response) => response.end("{}"));
    const server = await serveCards((_, response) => response.writeHead(307, { location: other.url }).end());
    for (const protocolBinding of ["JSONRPC", "HTTP+JSON", "urn:parley:binding:connect:v1"]) {
      const supportedInterfaces = [{ url: server.url, protocolBinding, protocolVersion: "1.0" }];
      const client = await connect(cardJson({ ...schemes, supportedInterfaces }), { credentials: showing });
      expect(await failure(client.listTasks({}))).toBeInstanceOf(Error);
    }
    expect(server.got.length).toBe(3);
    expect(other.got).toEqual([]);
  });

  it("do not go unencrypted to other machines", async () => {
    const supportedInterfaces = [{ url: "http://agent.invalid", protocolBinding: "JSONRPC", protocolVersion: "1.0" }];
    const client = await connect(cardJson({ ...schemes, supportedInterfaces }), { credentials: apiKey("k") });
    expect(await failure(client.listTasks({}))).toMatchObject({
      reason: "UNAUTHENTICATED",
      message: expect.stringContaining("No credentials are sent unencrypted"),
    });
  });

  it("are not what interceptors see", async () => {
    const server = await secured(tokens());
    const seen: string[] = [];
    const client = await connect(server.url, {
      credentials: bearer("fresh"),
      interceptors: [
        (next) => (call) => {
          seen.push(...call.header.keys());
          return next(call);
        },
      ],
    });
    await client.listTasks({});
    expect(seen).toContain("a2a-version");
    expect(seen).not.toContain("authorization");
  });
});
