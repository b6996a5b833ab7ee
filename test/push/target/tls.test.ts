import type { AddressInfo } from "node:net";
import tls, { createServer, type TLSSocket } from "node:tls";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import type { TargetOptions } from "../../../src/push/options.js";
import { Certificates } from "../../server/certificates.js";
import { testTls } from "../../server/tls.js";
import { here, post, World } from "./receiver.js";

const world = new World();
const certificates = new Certificates();
afterEach(() => world.close());
afterAll(() => certificates.clean());

const failed = (reason: string | RegExp): object => ({
  kind: "failed",
  forbidden: false,
  reason: typeof reason === "string" ? reason : expect.stringMatching(reason),
});
const accepted = { kind: "accepted", status: 200 };
const trusting = (port: number, ca: string): TargetOptions => ({ ...here(port), tls: { ca } });

describe("TLS", () => {
  it("is trusted by `ca`, at a name and at an address", async () => {
    const port = await world.http((_, response) => response.end(), testTls);
    const poster = world.poster({
      ...trusting(port, testTls.cert),
      lookup: async () => [{ address: "127.0.0.1", family: 4 }],
    });
    expect(await post(poster, `https://127.0.0.1:${port}/`)).toEqual(accepted);
    expect(await post(poster, `https://localhost:${port}/`)).toEqual(accepted);
  });

  it("is not trusted without, whatever the environment says", async () => {
    let requests = 0;
    const port = await world.http(() => requests++, testTls);
    const before = process.env.NODE_TLS_REJECT_UNAUTHORIZED;
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = "0";
    try {
      const outcome = await post(world.poster(here(port)), `https://127.0.0.1:${port}/`);
      expect(outcome).toEqual(failed("the certificate of the host is not trusted"));
    } finally {
      if (before === undefined) delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
      else process.env.NODE_TLS_REJECT_UNAUTHORIZED = before;
    }
    expect(requests).toBe(0);
  });

  it("is refused for another host", async () => {
    const port = await world.http((_, response) => response.end(), testTls);
    const options = { ...trusting(port, testTls.cert), lookup: async () => [{ address: "127.0.0.1", family: 4 }] };
    expect(await post(world.poster(options), `https://other.example.com:${port}/`)).toEqual(
      failed("the certificate is for another host"),
    );
  });

  it("is refused after the certificate's end and before its beginning", async () => {
    const old = certificates.make("localhost", { from: "20200101000000Z", to: "20210101000000Z" });
    const port = await world.http((_, response) => response.end(), old);
    expect(await post(world.poster(trusting(port, old.cert)), `https://localhost:${port}/`)).toEqual(
      failed("the certificate of the host has expired"),
    );
    const coming = certificates.make("localhost", { from: "21000101000000Z", to: "21100101000000Z" });
    const later = await world.http((_, response) => response.end(), coming);
    expect(await post(world.poster(trusting(later, coming.cert)), `https://localhost:${later}/`)).toEqual(
      failed("the certificate of the host is not valid yet"),
    );
  });

  it.each([
    ["TLSv1", failed("TLS could not be agreed on")],
    ["TLSv1.1", failed("TLS could not be agreed on")],
    ["TLSv1.2", accepted],
    ["TLSv1.3", accepted],
  ] as const)("of %s", async (version, outcome) => {
    // Flags of a process or its host may allow older versions.
    const before = { DEFAULT_MIN_VERSION: tls.DEFAULT_MIN_VERSION, DEFAULT_CIPHERS: tls.DEFAULT_CIPHERS };
    Object.assign(tls, { DEFAULT_MIN_VERSION: "TLSv1", DEFAULT_CIPHERS: "DEFAULT@SECLEVEL=0" });
    world.onEnd(() => Object.assign(tls, before));
    const options = { minVersion: version, maxVersion: version, ciphers: "DEFAULT@SECLEVEL=0" };
    const port = await world.http((_, response) => response.end(), { ...testTls, ...options });
    const poster = world.poster(trusting(port, testTls.cert));
    expect(await post(poster, `https://127.0.0.1:${port}/`)).toEqual(outcome);
  });

  it("is not spoken with what speaks HTTP, nor HTTP with it", async () => {
    const plain = await world.http((_, response) => response.end());
    expect(await post(world.poster(here(plain)), `https://127.0.0.1:${plain}/`)).toEqual(
      failed("the port does not speak TLS"),
    );
    const tls = await world.http((_, response) => response.end(), testTls);
    expect(await post(world.poster(here(tls)), `http://127.0.0.1:${tls}/`)).toEqual(
      failed(/^the (?:connection was closed|answer is not HTTP)/),
    );
  });

  it("shows our certificate to receivers that ask for one", async () => {
    const own = certificates.make("parley");
    const subjects: unknown[] = [];
    const server = createServer({ ...testTls, ca: own.cert, requestCert: true, rejectUnauthorized: true }, (socket) => {
      subjects.push(socket.getPeerCertificate().subject.CN);
      socket.on("error", () => {});
      socket.on("data", () => socket.end("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    world.onEnd(() => server.close());
    const { port } = server.address() as AddressInfo;
    const url = `https://127.0.0.1:${port}/`;
    const { ca } = { ca: testTls.cert };
    expect(await post(world.poster({ ...here(port), tls: { ca, cert: own.cert, key: own.key } }), url)).toEqual(
      accepted,
    );
    expect((await post(world.poster({ ...here(port), tls: { ca } }), url)).kind).toBe("failed");
    expect(subjects).toEqual(["parley"]);
  });

  it("names the host to the receiver, and no address", async () => {
    const names: unknown[] = [];
    const port = await world.http((request, response) => {
      names.push((request.socket as TLSSocket).servername);
      response.end();
    }, testTls);
    const poster = world.poster({
      ...trusting(port, testTls.cert),
      lookup: async () => [{ address: "127.0.0.1", family: 4 }],
    });
    await post(poster, `https://localhost:${port}/`);
    await post(poster, `https://127.0.0.1:${port}/`);
    expect(names).toEqual(["localhost", false]);
  });
});
