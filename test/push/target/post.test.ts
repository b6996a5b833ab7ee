import { text } from "node:stream/consumers";
import { afterEach, describe, expect, it } from "vitest";
import { here, post, World } from "./receiver.js";

const world = new World();
afterEach(() => world.close());

describe("createPoster()", () => {
  it("sends one POST as it is given", async () => {
    const got: unknown[] = [];
    const port = await world.http(async (request, response) => {
      const { method, url, headers } = request;
      got.push({ method, url, type: headers["content-type"], host: headers.host, body: await text(request) });
      response.writeHead(202).end("thanks");
    });
    const poster = world.poster(here(port));
    const url = `http://127.0.0.1:${port}/hook?a=1`;
    expect(await post(poster, url, { body: '{"a":"ä"}' })).toEqual({ kind: "accepted", status: 202 });
    expect(await post(poster, url, { body: new TextEncoder().encode("bytes") })).toMatchObject({ kind: "accepted" });
    const each = { method: "POST", url: "/hook?a=1", type: "application/a2a+json", host: `127.0.0.1:${port}` };
    expect(got).toEqual([
      { ...each, body: '{"a":"ä"}' },
      { ...each, body: "bytes" },
    ]);
  });

  it("connects to nothing that the guard forbids", async () => {
    let connections = 0;
    const port = await world.tcp(() => connections++);
    const poster = world.poster({ allowHttp: true, ports: [port] });
    expect(await post(poster, `http://127.0.0.1:${port}/`)).toEqual({
      kind: "failed",
      forbidden: true,
      reason: "the host has an address that must not be reached (loopback)",
    });
    expect(connections).toBe(0);
  });
});
