import { create, fromJson } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { AgentCardSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { signCard, verifyCard } from "../../src/card/index.js";
import { CardCache } from "../../src/client/discovery/card-cache.js";
import { type CardOptions, findCard } from "../../src/client/discovery/discovery.js";
import { type ClientLimits, clientLimits } from "../../src/client/limits.js";
import type { A2AError } from "../../src/core/error.js";
import { cardJson, serveCards } from "./card-server.js";
import { fetchHttp } from "./http.js";

interface Find extends CardOptions {
  readonly limits?: Partial<ClientLimits>;
  readonly signal?: AbortSignal;
}

const path = "/.well-known/agent-card.json";
const quick = { retryMs: 1, maxRetryMs: 1 };

const find = async (source: string | URL | object, { limits, signal, ...options }: Find = {}) =>
  findCard(source, {
    http: fetchHttp,
    options,
    cache: options.cache === false ? undefined : options.cache,
    limits: clientLimits({ ...quick, ...limits }),
    signal,
  });

const errorOf = (source: string | URL | object, options?: Find): Promise<A2AError> =>
  find(source, options).then(
    ({ card }) => expect.fail(`found ${card.name}`),
    (error) => error,
  );

describe("findCard()", () => {
  it("looks at the well-known path below a URL", async () => {
    const server = await serveCards((_, response) => response.end(JSON.stringify(cardJson())));
    for (const url of [server.url, `${server.url}/`, new URL(server.url)]) {
      expect((await find(url)).card.name).toBe("Found");
    }
    await find(`${server.url}/agents/one/`);
    await find(`${server.url}/other.json?x=1`);
    expect(server.got.map((each) => each.path)).toEqual([path, path, path, `/agents/one${path}`, "/other.json?x=1"]);
  });

  it("takes a URL itself where nothing is below it and a card is there", async () => {
    const server = await serveCards(({ url }, response) => {
      response.statusCode = url === "/card" ? 200 : 404;
      response.end(JSON.stringify(cardJson()));
    });
    const found = await find(`${server.url}/card`);
    expect(found).toMatchObject({ url: `${server.url}/card`, card: { name: "Found" } });
    expect(await errorOf(`${server.url}/nothing`)).toMatchObject({
      reason: "INVALID_AGENT_RESPONSE",
      message: expect.stringContaining(`/nothing${path}: the server answered 404`),
    });
  });

  it("takes cards that are given: as a message, as JSON, and as its text", async () => {
    const card = fromJson(AgentCardSchema, cardJson() as never);
    for (const given of [card, cardJson(), JSON.stringify(cardJson(), null, 2)]) {
      expect(await find(given)).toMatchObject({ url: undefined, card: { name: "Found" } });
    }
  });

  it.each(["no URL", "/relative", "ftp://example.org", "mailto:a@example.org", 17, null, undefined, []])(
    "says that %j is neither",
    async (source) => {
      expect(await errorOf(source as never)).toMatchObject({ reason: "INVALID_PARAMS" });
    },
  );

  it("asks again by its tag when a card is no longer fresh, and keeps what is as it was", async () => {
    let version = 1;
    const server = await serveCards(({ headers }, response) => {
      response.setHeader("etag", `"${version}"`).setHeader("cache-control", "no-cache");
      if (headers["if-none-match"] === `"${version}"`) response.writeHead(304).end();
      else response.end(JSON.stringify(cardJson({ version: `${version}` })));
    });
    const cache = new CardCache();
    const versions = [];
    for (const each of [1, 1, 2]) {
      version = each;
      versions.push((await find(server.url, { cache })).card.version);
    }
    expect(versions).toEqual(["1", "1", "2"]);
    expect(server.got.map(({ headers }) => headers["if-none-match"])).toEqual([undefined, '"1"', '"1"']);
  });

  it("asks by the date where there is no tag", async () => {
    const date = "Sun, 22 Nov 2026 09:00:00 GMT";
    const server = await serveCards(({ headers }, response) => {
      response.setHeader("last-modified", date);
      if (headers["if-modified-since"] === date) response.writeHead(304).end();
      else response.end(JSON.stringify(cardJson()));
    });
    const cache = new CardCache();
    expect((await find(server.url, { cache })).card.name).toBe("Found");
    expect((await find(server.url, { cache })).card.name).toBe("Found");
    expect(server.got.map(({ headers }) => headers["if-modified-since"])).toEqual([undefined, date]);
  });

  it.each([
    ["public, max-age=60", 1],
    ['MAX-AGE="60"', 1],
    ["max-age=60, no-cache", 2],
    ["no-store, max-age=60", 2],
    ["max-age=0", 2],
    ["", 2],
    ["max-age=sixty", 2],
  ])("with Cache-Control %j asks %i times for a card that is needed twice", async (control, times) => {
    const server = await serveCards((_, response) => {
      if (control !== "") response.setHeader("cache-control", control);
      response.end(JSON.stringify(cardJson()));
    });
    const cache = new CardCache();
    await find(server.url, { cache });
    await find(server.url, { cache });
    expect(server.got.length).toBe(times);
    expect(server.got.at(-1)?.headers["if-none-match"]).toBeUndefined();
  });

  it("takes into account how old an answer of a cache is, and its own limit", async () => {
    const server = await serveCards((_, response) => {
      response.setHeader("cache-control", "max-age=60").setHeader("age", "60").end(JSON.stringify(cardJson()));
    });
    const cache = new CardCache();
    await find(server.url, { cache });
    await find(server.url, { cache });
    expect(server.got.length).toBe(2);
    const fresh = await serveCards((_, response) => {
      response.setHeader("cache-control", "max-age=60").end(JSON.stringify(cardJson()));
    });
    await find(fresh.url, { cache, limits: { maxCardAgeMs: 0 } });
    await find(fresh.url, { cache, limits: { maxCardAgeMs: 0 } });
    expect(fresh.got.length).toBe(2);
  });

  it("keeps cards that were asked for with headers apart, and a bounded number of them", async () => {
    const server = await serveCards(({ headers }, response) => {
      response.setHeader("cache-control", "max-age=60").end(JSON.stringify(cardJson({ name: headers.authorization })));
    });
    const cache = new CardCache();
    const names = [];
    for (const authorization of ["a", "b", "a", "c", "d", "a"]) {
      names.push((await find(server.url, { cache, headers: { authorization }, limits: { maxCards: 2 } })).card.name);
    }
    expect(names).toEqual(["a", "b", "a", "c", "d", "a"]);
    expect(server.got.map(({ headers }) => headers.authorization)).toEqual(["a", "b", "c", "d", "a"]);
    cache.clear();
    await find(server.url, { cache, headers: { authorization: "a" } });
    expect(server.got.length).toBe(6);
  });

  it("follows redirects, and takes no header to another origin", async () => {
    const other = await serveCards((_, response) => response.end(JSON.stringify(cardJson())));
    const server = await serveCards(({ url }, response) => {
      const location = url === path ? "/moved" : `${other.url}/there`;
      response.writeHead(url === path ? 308 : 302, { location }).end();
    });
    const found = await find(server.url, { headers: { "x-secret": "s" } });
    expect(found.url).toBe(`${other.url}/there`);
    expect(server.got.map(({ headers }) => headers["x-secret"])).toEqual(["s", "s"]);
    expect(other.got.map(({ headers }) => headers["x-secret"])).toEqual([undefined]);
  });

  it.each([
    ["/around", "is redirected more than 3 times"],
    ["file:///etc/passwd", "is redirected to no URL of http or https"],
    ["http://[", "is redirected to no URL of http or https"],
    [undefined, "is redirected to no URL of http or https"],
  ])("gives up a redirect to %s", async (location, message) => {
    const server = await serveCards((_, response) => {
      response.writeHead(302, location === undefined ? {} : { location }).end();
    });
    expect(await errorOf(server.url)).toMatchObject({
      reason: "INVALID_AGENT_RESPONSE",
      message: expect.stringContaining(message),
    });
    expect(server.got.length).toBe(location === "/around" ? 4 : 1);
  });

  it("reads no more of a card than is allowed", async () => {
    const server = await serveCards((_, response) => {
      const timer = setInterval(() => response.write(" ".repeat(10_000)), 1);
      response.on("close", () => clearInterval(timer));
    });
    expect(await errorOf(server.url, { limits: { maxCardBytes: 100_000 } })).toMatchObject({
      reason: "INVALID_AGENT_RESPONSE",
      message: expect.stringContaining("more than 100000 bytes"),
    });
  });

  it("waits no longer than is allowed, for a card that trickles in as well", async () => {
    const server = await serveCards((_, response) => {
      const timer = setInterval(() => response.write(" "), 10);
      response.on("close", () => clearInterval(timer));
    });
    expect(await errorOf(server.url, { limits: { cardTimeoutMs: 100 } })).toMatchObject({
      reason: "DEADLINE_EXCEEDED",
    });
  });

  it("stops at once when its caller gives up", async () => {
    const server = await serveCards(() => {});
    const gone = new AbortController();
    const error = errorOf(server.url, { signal: gone.signal });
    await expect.poll(() => server.got.length).toBe(1);
    gone.abort(new Error("no longer wanted"));
    expect(await error).toMatchObject({ reason: "CANCELLED", cause: { message: "no longer wanted" } });
    expect(await errorOf(server.url, { signal: gone.signal })).toMatchObject({ reason: "CANCELLED" });
    expect(server.got.length).toBe(1);
  });

  it("tries again where a server is away for a moment, as often as is allowed", async () => {
    let left = 2;
    const server = await serveCards((_, response) => {
      if (left-- > 0) response.writeHead(503, { "retry-after": "0" }).end("busy");
      else response.end(JSON.stringify(cardJson()));
    });
    expect((await find(server.url)).card.name).toBe("Found");
    left = 99;
    expect(await errorOf(server.url, { limits: { maxAttempts: 3 } })).toMatchObject({ reason: "UNAVAILABLE" });
    expect(server.got.length).toBe(6);
    left = 99;
    await errorOf(server.url, { limits: { maxAttempts: 1 } });
    expect(server.got.length).toBe(7);
  });

  it("does not wait for a server that asks for more time than it gets", async () => {
    const server = await serveCards((_, response) => response.writeHead(429, { "retry-after": "3600" }).end());
    expect(await errorOf(server.url)).toMatchObject({ reason: "TOO_MANY_REQUESTS", retryAfterMs: 3_600_000 });
    expect(server.got.length).toBe(1);
  });

  it.each([
    [401, "UNAUTHENTICATED"],
    [403, "PERMISSION_DENIED"],
    [404, "INVALID_AGENT_RESPONSE"],
    [418, "INVALID_AGENT_RESPONSE"],
    [204, "INVALID_AGENT_RESPONSE"],
    [304, "INVALID_AGENT_RESPONSE"],
    [502, "UNAVAILABLE"],
  ])("says what an answer of %i means", async (status, reason) => {
    const server = await serveCards((_, response) => response.writeHead(status).end());
    expect(await errorOf(server.url, { limits: { maxAttempts: 1 } })).toMatchObject({
      reason,
      message: expect.stringContaining(`${status}`),
    });
  });

  it("says so when nobody answers", async () => {
    expect(await errorOf("http://127.0.0.1:9")).toMatchObject({ reason: "UNAVAILABLE" });
  });

  describe("verifying", () => {
    const keys = crypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, true, ["sign", "verify"]);
    const signed = async (): Promise<{ card: object; trust: object }> => {
      const { privateKey, publicKey } = await keys;
      const jwk = { ...(await crypto.subtle.exportKey("jwk", privateKey)), kid: "k", alg: "ES256" };
      const card = await signCard(fromJson(AgentCardSchema, cardJson() as never), [{ key: jwk, kid: "k" } as never]);
      const open = { ...(await crypto.subtle.exportKey("jwk", publicKey)), kid: "k", alg: "ES256" };
      return { card, trust: { keys: [open] } };
    };

    it("takes a card with a signature that is trusted, and no other", async () => {
      const { card, trust } = await signed();
      const { jsonWriter } = await import("../../src/wire/json-writer.js");
      const text = jsonWriter(AgentCardSchema)(card as never);
      let served = text;
      const server = await serveCards((_, response) => response.end(served));
      const verify = (received: string) => verifyCard(received, trust);
      expect((await find(server.url, { verify })).card.name).toBe("Found");
      expect((await find(text, { verify })).card.name).toBe("Found");
      expect((await find(card, { verify })).card.name).toBe("Found");
      for (const [other, why] of [
        [text.replace("Found", "Faked"), "the card was changed"],
        [JSON.stringify(cardJson()), "it has none"],
      ] as const) {
        served = other;
        expect(await errorOf(server.url, { verify })).toMatchObject({
          reason: "INVALID_AGENT_RESPONSE",
          message: expect.stringContaining(why),
        });
      }
    });
  });

  it("gives the card as it is, whatever else it is", async () => {
    const empty = create(AgentCardSchema);
    expect((await find(empty)).card).toBe(empty);
  });
});
