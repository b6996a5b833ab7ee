import type { IncomingMessage, ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import { cardJson, serveCards } from "../card-server.js";
import { connect, serve } from "../world.js";

const JSON_TYPE = "application/json";
const A2A_TYPE = "application/a2a+json";
const message = { messageId: "m", contextId: "c", role: "ROLE_AGENT", parts: [{ text: "hi" }] };

type Refuse = (type: string) => { status: number; body: object } | undefined;

const unsupported = (status: number, body: object = {}) => ({ status, body });
const ofProtocol = {
  error: {
    code: 400,
    status: "INVALID_ARGUMENT",
    message: "no",
    details: [
      {
        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
        reason: "CONTENT_TYPE_NOT_SUPPORTED",
        domain: "a2a-protocol.org",
      },
    ],
  },
};

/** An HTTP+JSON server that refuses some media types and answers in one. */
async function restServer(refuse: Refuse, answersIn: string, version = "1.0") {
  const sent: string[] = [];
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const type = request.headers["content-type"] ?? "";
    if (request.method === "POST") sent.push(type);
    await text(request);
    const refused = request.method === "POST" ? refuse(type) : undefined;
    if (refused !== undefined) {
      response.writeHead(refused.status, { "content-type": JSON_TYPE }).end(JSON.stringify(refused.body));
    } else if (request.url?.endsWith(":stream") === true) {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.end(`data: ${JSON.stringify({ message })}\n\n`);
    } else {
      const body = request.method === "GET" ? { tasks: [], nextPageToken: "", pageSize: 1, totalSize: 0 } : { message };
      response.writeHead(200, { "content-type": answersIn }).end(JSON.stringify(body));
    }
  };
  const server = await serveCards((request, response) => void answer(request, response));
  const supportedInterfaces = [{ url: server.url, protocolBinding: "HTTP+JSON", protocolVersion: version }];
  const client = await connect(cardJson({ supportedInterfaces, capabilities: { streaming: true } }));
  const stream = async () => {
    let said = "";
    for await (const update of client.stream("x")) said += update.text;
    return said;
  };
  return { client, sent, stream };
}

const takesAll: Refuse = () => undefined;

describe("the media type of requests over HTTP+JSON [CLI-REQ-19]", () => {
  it("is the protocol's as soon as the server has answered in it", async () => {
    for (const answersIn of [A2A_TYPE, `${A2A_TYPE}; charset=utf-8`]) {
      const { client, sent, stream } = await restServer(takesAll, answersIn);
      await client.send("x");
      await client.send("x");
      expect(await stream()).toBe("hi");
      expect(sent).toEqual([JSON_TYPE, A2A_TYPE, A2A_TYPE]);
    }
    const { client, sent } = await restServer(takesAll, A2A_TYPE);
    await client.listTasks({});
    await client.send("x");
    expect(sent).toEqual([A2A_TYPE]);
  });

  it("stays that of JSON for a server that answers in it", async () => {
    const { client, sent, stream } = await restServer(takesAll, JSON_TYPE);
    await client.send("x");
    await client.send("x");
    await stream();
    expect(sent).toEqual([JSON_TYPE, JSON_TYPE, JSON_TYPE]);
  });

  it.each([
    ["415", unsupported(415)],
    ["415 with an error", unsupported(415, { error: { code: 415, message: "no" } })],
    ["an error of the protocol", unsupported(400, ofProtocol)],
    ["a problem", unsupported(415, { type: "about:blank", title: "Unsupported Media Type", status: 415 })],
  ])("is the other one after a refusal by %s, once", async (_, refusal) => {
    for (const [takes, answersIn] of [
      [JSON_TYPE, A2A_TYPE],
      [A2A_TYPE, JSON_TYPE],
      [A2A_TYPE, A2A_TYPE],
    ] as const) {
      const refuse: Refuse = (type) => (type === takes ? undefined : refusal);
      const one = await restServer(refuse, answersIn);
      for (let i = 0; i < 3; i++) expect((await one.client.send("x")).text).toBe("hi");
      expect(await one.stream()).toBe("hi");
      expect(one.sent.filter((type) => type !== takes)).toHaveLength(1);
      expect(one.sent).toHaveLength(5);
      const other = await restServer(refuse, answersIn);
      for (let i = 0; i < 3; i++) expect(await other.stream()).toBe("hi");
      expect(other.sent.filter((type) => type !== takes).length).toBeLessThan(2);
    }
  });

  it("is tried once more at most", async () => {
    const { client, sent, stream } = await restServer(() => unsupported(400, ofProtocol), JSON_TYPE);
    await expect(client.send("x")).rejects.toMatchObject({ reason: "CONTENT_TYPE_NOT_SUPPORTED" });
    expect(sent).toEqual([JSON_TYPE, A2A_TYPE]);
    await expect(stream()).rejects.toMatchObject({ reason: "CONTENT_TYPE_NOT_SUPPORTED" });
    expect(sent).toHaveLength(4);
  });

  it("is not what an agent refuses that has taken it before", async () => {
    let isContent = false;
    const { client, sent } = await restServer(() => (isContent ? unsupported(400, ofProtocol) : undefined), JSON_TYPE);
    await client.send("x");
    isContent = true;
    await expect(client.send("x")).rejects.toMatchObject({ reason: "CONTENT_TYPE_NOT_SUPPORTED" });
    expect(sent).toEqual([JSON_TYPE, JSON_TYPE]);
  });

  it("is that of JSON before 1.0", async () => {
    const { client, sent } = await restServer(() => unsupported(415), A2A_TYPE, "0.3");
    await expect(client.send("x")).rejects.toMatchObject({ reason: "MEDIA_TYPE_NOT_SUPPORTED" });
    expect(sent).toEqual([JSON_TYPE]);
  });

  it("is the protocol's at our own server", async () => {
    const types: string[] = [];
    const server = await serve();
    const client = await connect(server.url, {
      bindings: ["HTTP+JSON"],
      interceptors: [
        (next) => (request) => {
          types.push(request.header.get("content-type") ?? "");
          return next(request);
        },
      ],
    });
    expect((await client.send("say hi")).text).toBe("hi");
    expect((await client.send("say hi")).text).toBe("hi");
    expect(types).toEqual([JSON_TYPE, A2A_TYPE]);
  });
});
