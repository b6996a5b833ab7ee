import { createServer, type Server, type ServerResponse } from "node:http";
import { createServer as createHttp2Server } from "node:http2";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import type { A2AClient } from "../../src/client/client.js";
import { neverArrived } from "../../src/client/errors/errors.js";
import type { A2AError } from "../../src/core/error.js";
import { CONNECT_BINDING } from "../../src/wire/card-names.js";
import { IDEMPOTENCY_EXTENSION } from "../../src/wire/service-params.js";
import { cardJson } from "./card-server.js";
import { type ClientBinding, clientBindings } from "./cores.js";
import { atEnd, connect } from "./world.js";

/** The agent's reaction to a complete request. Undefined cuts the connection. */
type Does = ((response: ServerResponse) => void) | undefined;

/** A server that handles each request as its script says, and stops listening after the last one. */
class Place {
  readonly keys: (string | undefined)[] = [];
  readonly #script: Does[];
  readonly #server: Server;

  constructor(script: readonly Does[]) {
    this.#script = [...script];
    this.#server = createServer((request, response) => {
      request.resume().on("end", () => {
        this.keys.push(request.headers["idempotency-key"] as string | undefined);
        const does = this.#script.shift();
        if (this.#script.length === 0) this.#server.close();
        if (does === undefined) request.socket.destroy();
        else does(response);
      });
    });
    atEnd(() => {
      this.#server.close();
      this.#server.closeAllConnections();
    });
  }

  async open(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }
}

const cut: Does = undefined;
const busy: Does = (response) => response.writeHead(429, { "retry-after": "3600", connection: "close" }).end();
const silent: Does = () => {};

async function cardOf(places: readonly Place[], promises = true): Promise<object> {
  const urls = await Promise.all(places.map((place) => place.open()));
  return cardJson({
    supportedInterfaces: urls.map((url) => ({ protocolBinding: "JSONRPC", url, protocolVersion: "1.0" })),
    capabilities: { streaming: true, extensions: promises ? [{ uri: IDEMPOTENCY_EXTENSION }] : [] },
  });
}

async function failure(call: Promise<unknown>): Promise<A2AError> {
  return call.then(
    () => expect.fail("The call did not fail."),
    (error: A2AError) => error,
  );
}

const drained = async (updates: AsyncIterable<unknown>): Promise<void> => {
  for await (const _ of updates);
};

/** An HTTP/2 server that counts requests and closes the connection of each. */
async function cuttingHttp2(keys: (string | undefined)[]): Promise<string> {
  const server = createHttp2Server((request) => {
    request.resume().on("end", () => {
      keys.push(request.headers["idempotency-key"] as string | undefined);
      request.stream.session?.destroy();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  atEnd(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe("a message to an agent that does not declare idempotency", () => {
  const sends = {
    send: (client, options) => client.send("x", options),
    stream: (client, options) => drained(client.stream("x", options)),
    "send of a conversation": (client, options) => client.conversation().send("x", options),
    "stream of a conversation": (client, options) => drained(client.conversation().stream("x", options)),
  } satisfies Record<string, (client: A2AClient, options: { idempotencyKey: string }) => Promise<unknown>>;

  /** Connects to an agent that receives requests and never answers. */
  async function clientOf(binding: ClientBinding) {
    const place = new Place(Array.from({ length: 50 }, () => cut));
    const keys: (string | undefined)[] = binding === "GRPC" ? [] : place.keys;
    const url = binding === "GRPC" ? await cuttingHttp2(keys) : await place.open();
    const supportedInterfaces = [
      { protocolBinding: binding === "CONNECT" ? CONNECT_BINDING : binding, url, protocolVersion: "1.0" },
    ];
    const card = cardJson({ supportedInterfaces, capabilities: { streaming: true } });
    return { keys, client: await connect(card, { bindings: [binding], limits: { maxResumeMs: 200 } }) };
  }

  it.each(
    clientBindings.flatMap((binding) => Object.entries(sends).map(([name, begin]) => ({ binding, name, begin }))),
  )("is sent once under a key of its caller by $name over $binding", async ({ binding, begin }) => {
    const { client, keys } = await clientOf(binding);
    const error = await failure(begin(client, { idempotencyKey: "mine" }));
    expect(keys).toEqual(["mine"]);
    expect(error).toMatchObject({ reason: "UNAVAILABLE", metadata: { arrival: "unknown", idempotencyKey: "mine" } });
    expect(error.message).toContain("does not say that it may be sent again");
  });
});

describe("a send that may have arrived", () => {
  it("is told of when a later attempt did not, with the key for another one", async () => {
    const place = new Place([cut]);
    const client = await connect(await cardOf([place]));
    const error = await failure(client.send("x"));
    expect(error.reason).toBe("UNAVAILABLE");
    expect(error.metadata).toMatchObject({ arrival: "unknown", idempotencyKey: place.keys[0] });
    expect(place.keys[0]).toMatch(/./);
    expect(neverArrived(error)).toBe(false);
    expect(error.message).toContain("may be sent again");
  });

  it("is told of when the agent is too busy for a later attempt, by the reason of that", async () => {
    const place = new Place([cut, busy]);
    const client = await connect(await cardOf([place]));
    const error = await failure(client.send("x", { idempotencyKey: "mine" }));
    expect(error).toMatchObject({ reason: "TOO_MANY_REQUESTS", retryAfterMs: 3_600_000 });
    expect(error.metadata).toMatchObject({ arrival: "unknown", idempotencyKey: "mine" });
  });

  it.each(["send", "client"] as const)("is told of when its time is over, that of the %s", async (whose) => {
    const place = new Place([silent]);
    const limits = whose === "client" ? { sendTimeoutMs: 500 } : {};
    const client = await connect(await cardOf([place]), { limits });
    const error = await failure(client.send("x", whose === "send" ? { timeoutMs: 500 } : {}));
    expect(error.reason).toBe("DEADLINE_EXCEEDED");
    expect(error.metadata).toMatchObject({ arrival: "unknown", idempotencyKey: place.keys[0] });
  });

  it("is not told of where no attempt has arrived", async () => {
    const place = new Place([busy]);
    const client = await connect(await cardOf([place]));
    const refused = await failure(client.send("x"));
    expect([refused.reason, refused.metadata.arrival]).toEqual(["TOO_MANY_REQUESTS", undefined]);
    const unreached = await failure(client.send("x"));
    expect([unreached.reason, unreached.metadata.arrival]).toEqual(["UNAVAILABLE", undefined]);
    expect(neverArrived(unreached)).toBe(true);
  });

  it("is told of by a stream that could not be opened again", async () => {
    const place = new Place([cut]);
    const client = await connect(await cardOf([place]), { limits: { maxResumeMs: 50 } });
    const error = await failure(drained(client.stream("x")));
    expect(error.metadata).toMatchObject({ arrival: "unknown", idempotencyKey: place.keys[0] });
  });

  it("is sent once over all interfaces where nothing is to be tried twice", async () => {
    for (const begin of ["send", "stream"] as const) {
      const places = [new Place([cut, cut, cut]), new Place([cut, cut, cut])];
      const client = await connect(await cardOf(places), { limits: { maxAttempts: 1 } });
      const error = await failure(begin === "send" ? client.send("x") : drained(client.stream("x")));
      expect(error).toMatchObject({ reason: "UNAVAILABLE", metadata: { arrival: "unknown" } });
      expect(places.map(({ keys }) => keys.length)).toEqual([1, 0]);
      expect(error.metadata.idempotencyKey).toBe(places[0]?.keys[0]);
    }
  });

  it("is sent as often as the limit says over all interfaces together", async () => {
    const places = [new Place([cut, cut, cut, cut]), new Place([cut, cut, cut, cut])];
    const client = await connect(await cardOf(places), { limits: { maxAttempts: 3 } });
    await failure(client.send("x"));
    expect(places.flatMap(({ keys }) => keys)).toHaveLength(3);
  });
});
