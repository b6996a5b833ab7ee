import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type ClientHttp2Session, connect as http2Connect } from "node:http2";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, createServer as createTlsServer, type SecureVersion, type TLSSocket } from "node:tls";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import { mutualTlsScheme } from "../../src/auth/index.js";
import { type AuditRecord, createServer, type Logger, type Server, type ServerOptions } from "../../src/index.js";
import { tlsPoll } from "../../src/server/tls-reload.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { obedient } from "../conformance/agents.js";
import { setConstants, setConstantsOfFile } from "../support/constants.js";
import { Certificates } from "./certificates.js";
import { testTls } from "./tls.js";

const certificates = new Certificates();
const first = certificates.make("first.example", { kind: "rsa:2048" });
const second = certificates.make("second.example");
const ended = certificates.make("ended.example", { to: "20210203000000Z" });
const alice = certificates.make("alice");
const bob = certificates.make("bob");

const directory = mkdtempSync(join(tmpdir(), "parley-reload-"));
const paths = {
  keyFile: join(directory, "key.pem"),
  certFile: join(directory, "cert.pem"),
  caFile: join(directory, "ca.pem"),
};
const write = ({ key, cert }: { key: string; cert: string }): void => {
  writeFileSync(paths.keyFile, key);
  writeFileSync(paths.certFile, cert);
};

setConstantsOfFile(tlsPoll, { intervalMs: 20 });

const lines: string[] = [];
const records: AuditRecord[] = [];
const line = (level: string) => (facts: object, message: string) =>
  void lines.push(`${level} ${message} ${JSON.stringify(facts)}`);
const logger: Logger = { debug: line("debug"), info: line("info"), warn: line("warn"), error: line("error") };

let server: Server;
const serve = async (more: Partial<ServerOptions> = {}): Promise<void> => {
  server = await createServer({
    agent: obedient("reloaded"),
    store: memoryStore(),
    logger,
    audit: { write: (record) => void records.push(record) },
    port: 0,
    grpcPort: 0,
    tls: { keyFile: paths.keyFile, certFile: paths.certFile },
    limits: { shutdownGraceMs: 50 },
    ...more,
  } as ServerOptions);
};

beforeEach(() => {
  lines.splice(0);
  records.splice(0);
  write(first);
  writeFileSync(paths.caFile, alice.cert);
});
afterEach(() => server?.close({ graceMs: 0 }));
afterAll(() => {
  certificates.clean();
  rmSync(directory, { recursive: true });
});

const ports = (): number[] => [server.port, server.grpcPort ?? 0];

function handshake(port: number, options: object = {}): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const socket = connect(
      { port, host: "127.0.0.1", rejectUnauthorized: false, ALPNProtocols: ["h2"], ...options },
      () => resolve(socket),
    );
    socket.on("error", reject);
  });
}

/** The name of the certificate that each port shows to a new connection. */
async function shown(): Promise<string[]> {
  const sockets = await Promise.all(ports().map((port) => handshake(port)));
  return sockets.map((socket) => {
    const { CN } = socket.getPeerCertificate().subject;
    socket.destroy();
    return CN as string;
  });
}

const statusOver = (session: ClientHttp2Session): Promise<number> =>
  new Promise((resolve, reject) => {
    const stream = session.request({ ":path": "/healthz" });
    stream.on("response", (headers) => resolve(Number(headers[":status"]))).on("error", reject);
    stream.resume();
  });

describe("TLS files that are named", () => {
  it("are used as soon as they have changed, on both ports; open connections go on", async () => {
    await serve();
    expect(await shown()).toEqual(["first.example", "first.example"]);
    const session = http2Connect(`https://127.0.0.1:${server.port}`, { rejectUnauthorized: false });
    expect(await statusOver(session)).toBe(200);
    write(second);
    await expect.poll(shown).toEqual(["second.example", "second.example"]);
    expect(await statusOver(session)).toBe(200);
    session.close();
    expect(records.filter(({ event }) => event.startsWith("tls"))).toMatchObject([{ event: "tls.reloaded" }]);
    expect(lines.join("\n")).not.toContain("PRIVATE");
  });

  it("change nothing while they cannot be used: the old ones stay, and the log says so once", async () => {
    await serve();
    const refused = () => lines.filter((each) => each.startsWith("error"));
    for (const [key, cert, fault] of [
      [second.key, first.cert, "does not belong to the certificate"],
      [first.key, "nonsense", "cert is not a certificate"],
    ] as const) {
      lines.splice(0);
      write({ key, cert });
      await expect.poll(refused).toEqual([expect.stringContaining(fault)]);
      expect(refused()[0]).toContain("the previous ones stay in use");
      expect(await shown()).toEqual(["first.example", "first.example"]);
    }
    rmSync(paths.keyFile);
    await expect.poll(() => refused().at(-1)).toContain("ENOENT");
    expect(await shown()).toEqual(["first.example", "first.example"]);
    write(second);
    await expect.poll(shown).toEqual(["second.example", "second.example"]);
    expect(records.filter(({ event }) => event === "tls.reload-failed")).toHaveLength(3);
  });

  it("cost no client its connection that comes while they change, are broken, half written, of two pairs, or gone", async () => {
    await serve();
    const failures: unknown[] = [];
    const seen = new Set<string>();
    let [isOver, count] = [false, 0];
    const client = async (port: number, alpn: string): Promise<void> => {
      while (!isOver) {
        try {
          const socket = await handshake(port, { ALPNProtocols: [alpn] });
          seen.add(socket.getPeerCertificate().subject.CN as string);
          socket.destroy();
          count++;
        } catch (error) {
          failures.push(error);
        }
      }
    };
    const clients = [server.port, server.port, server.grpcPort ?? 0].map((port, i) =>
      client(port, i === 0 ? "http/1.1" : "h2"),
    );
    const states = [
      () => write(second),
      () => write({ ...first, key: "no key" }),
      () => write({ ...first, cert: first.cert.slice(0, first.cert.length / 2) }),
      () => write({ ...second, cert: second.cert + first.cert.slice(0, first.cert.length / 2) }),
      () => write({ key: second.key, cert: first.cert }),
      () => write({ key: "", cert: "" }),
      () => rmSync(paths.keyFile),
      () => write(first),
    ];
    for (let round = 0; round < 3; round++) {
      for (const change of states) {
        change();
        const before = count;
        await new Promise((resolve) => setTimeout(resolve, 60));
        await expect.poll(() => count).toBeGreaterThan(before);
      }
    }
    isOver = true;
    await Promise.all(clients);
    expect(failures).toEqual([]);
    expect([...seen].sort()).toEqual(["first.example", "second.example"]);
    expect(lines.filter((line) => line.startsWith("error")).length).toBeGreaterThan(3);
  });

  it("are not used while a chain, or a list of authorities, ends in the middle of a certificate", async () => {
    await serve({ tls: paths });
    const half = first.cert.slice(0, first.cert.length / 2);
    write({ ...second, cert: second.cert + half });
    await expect.poll(() => lines.join("\n")).toContain("tls: cert ends in the middle of a certificate");
    expect(await shown()).toEqual(["first.example", "first.example"]);
    write(second);
    await expect.poll(shown).toEqual(["second.example", "second.example"]);
    writeFileSync(paths.caFile, alice.cert + half);
    await expect.poll(() => lines.join("\n")).toContain("tls: ca ends in the middle of a certificate");
  });

  it("have their authorities changed too; a session of before is not resumed", async () => {
    const security = { schemes: { client: mutualTlsScheme() } };
    await serve({ agent: { ...obedient("reloaded"), security }, tls: paths });
    const calls = async (pair: { key: string; cert: string }): Promise<number> => {
      const session = http2Connect(`https://127.0.0.1:${server.port}`, { rejectUnauthorized: false, ...pair });
      const stream = session.request({ ":path": "/tasks", "a2a-version": "1.0" });
      return new Promise((resolve, reject) => {
        stream.on("response", (headers) => {
          resolve(Number(headers[":status"]));
          session.destroy();
        });
        stream.on("error", reject);
      });
    };
    expect([await calls(alice), await calls(bob)]).toEqual([200, 401]);
    const socket = await handshake(server.port, { ...alice, ALPNProtocols: ["http/1.1"], maxVersion: "TLSv1.2" });
    const session = socket.getSession();
    const again = await handshake(server.port, { ...alice, session, maxVersion: "TLSv1.2" });
    expect(again.isSessionReused()).toBe(true);
    writeFileSync(paths.caFile, bob.cert);
    await expect.poll(async () => [await calls(alice), await calls(bob)]).toEqual([401, 200]);
    const late = await handshake(server.port, { ...alice, session, maxVersion: "TLSv1.2" });
    expect(late.isSessionReused()).toBe(false);
    for (const each of [socket, again, late]) each.destroy();
  });
});

describe("Server.reloadTls()", () => {
  it("takes other contents at once", async () => {
    await serve({ tls: first });
    server.reloadTls(second);
    expect(await shown()).toEqual(["second.example", "second.example"]);
    expect(() => server.reloadTls()).toThrow("give the new contents");
  });

  it("reads the named files at once", async () => {
    setConstants(tlsPoll, { intervalMs: 600_000 });
    await serve();
    write(second);
    server.reloadTls();
    expect(await shown()).toEqual(["second.example", "second.example"]);
  });

  it("refuses what cannot be used, and keeps what is there", async () => {
    await serve({ tls: first });
    expect(() => server.reloadTls({ key: second.key, cert: first.cert })).toThrow("does not belong to the certificate");
    expect(() => server.reloadTls({ ...second, ca: alice.cert })).toThrow("adding or removing ca needs a restart");
    expect(await shown()).toEqual(["first.example", "first.example"]);
    expect(records.filter(({ event }) => event === "tls.reload-failed")).toHaveLength(2);
  });

  it("is refused by a server in the clear", async () => {
    await serve({ tls: undefined as never });
    expect(() => server.reloadTls(first)).toThrow("the server has no tls");
  });

  it("names a certificate that has ended, in the log and for auditors", async () => {
    await serve({ tls: first });
    server.reloadTls(ended);
    expect(lines.filter((each) => each.startsWith("warn")).join()).toContain("of ended.example expired");
    expect(records.map(({ event }) => event)).toContain("tls.expiring");
  });
});

describe("the versions of TLS", () => {
  const old: SecureVersion[] = ["TLSv1", "TLSv1.1"];
  /** A client that negotiates the old version. OpenSSL allows it only at its lowest security level. */
  const only = (version: SecureVersion) => ({
    minVersion: version,
    maxVersion: version,
    ciphers: "ALL:@SECLEVEL=0",
  });

  it.each(old)("%s is refused on both ports, by the server", async (version) => {
    const lax = createTlsServer({ ...testTls, ...only(version) });
    await new Promise<void>((resolve) => lax.listen(0, "127.0.0.1", resolve));
    const { port } = lax.address() as { port: number };
    // Elsewhere the same client gets its way.
    const socket = await handshake(port, only(version));
    expect(socket.getProtocol()).toBe(version);
    socket.destroy();
    lax.close();
    await serve();
    for (const each of ports()) {
      await expect(handshake(each, only(version))).rejects.toMatchObject({
        code: "ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION",
      });
    }
  });

  it("1.2 is taken, with forward secrecy alone; 1.3 is preferred", async () => {
    await serve();
    for (const port of ports()) {
      const chosen = await handshake(port);
      const at12 = await handshake(port, { maxVersion: "TLSv1.2" });
      expect([chosen.getProtocol(), at12.getProtocol()]).toEqual(["TLSv1.3", "TLSv1.2"]);
      expect(at12.getCipher().name).toMatch(/^ECDHE-/);
      const weak = handshake(port, { maxVersion: "TLSv1.2", ciphers: "AES128-GCM-SHA256:AES256-SHA:@SECLEVEL=0" });
      await expect(weak).rejects.toMatchObject({ code: expect.stringContaining("HANDSHAKE_FAILURE") });
      chosen.destroy();
      at12.destroy();
    }
  });
});
