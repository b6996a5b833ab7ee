import type { IncomingHttpHeaders } from "node:http";
import * as https from "node:https";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { mutualTlsScheme } from "../../src/auth/index.js";
import { type A2A, createA2A } from "../../src/index.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { obedient } from "../conformance/agents.js";
import { type ConsoleWorld, openConsole, own } from "../console/world.js";
import { Certificates } from "../server/certificates.js";
import { testTls } from "../server/tls.js";

/** Operators with a certificate, with and without a trusted proxy in front of the server. */

const certificates = new Certificates();
const authority = certificates.make("authority");
const good = certificates.make("nightly", { by: authority });
const tls = { ...testTls, ca: authority.cert };
const admin = {
  security: { schemes: { client: mutualTlsScheme({ scopes: () => ["parley.write"] }) } },
  roles: { read: "parley.read", write: "parley.write" },
};
const trusting = { trustProxy: "loopback" } as const;
afterAll(() => certificates.clean());

type Headers = Readonly<Record<string, string>>;

/** Headers that a proxy may send along with its own certificate. */
const forwarded: readonly (readonly [string, Headers])[] = [
  ["without a header", {}],
  ["with X-Forwarded-For", { "x-forwarded-for": "192.0.2.1", "x-forwarded-proto": "https" }],
  ["with Forwarded", { forwarded: "for=192.0.2.1;proto=https" }],
];

interface Shown {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
}

/** Sends a request with the accepted certificate. */
function show(url: string, headers: Headers = {}, method = "GET"): Promise<Shown> {
  return new Promise((resolve, reject) => {
    const request = https.request(url, { method, headers, agent: false, ca: testTls.cert, ...good });
    request.once("error", reject).once("response", (response) => {
      const { statusCode: status = 0, headers: answered } = response.resume();
      resolve({ status, headers: answered });
    });
    request.end();
  });
}

describe("the console with mutualTls", () => {
  let direct: ConsoleWorld;
  let behindProxy: ConsoleWorld;
  beforeAll(async () => {
    const options = { tls, admin: { ...admin, listen: "127.0.0.1:0" } };
    direct = await openConsole(options);
    behindProxy = await openConsole({ ...options, ...trusting });
  });
  afterAll(async () => {
    await direct.server.close();
    await behindProxy.server.close();
  });

  const logIn = ({ base }: ConsoleWorld, headers: Headers): Promise<Shown> =>
    show(`${base}/api/session`, { ...own, ...headers }, "POST");

  it.each(forwarded)("takes no certificate of a trusted proxy for an operator's, %s", async (_name, headers) => {
    expect((await logIn(behindProxy, headers)).status).toBe(401);
  });

  it.each(forwarded)("lets an operator in by its own certificate, %s", async (_name, headers) => {
    const { status, headers: answered } = await logIn(direct, headers);
    expect(status).toBe(204);
    const cookie = answered["set-cookie"]?.[0]?.split(";", 1)[0] ?? "";
    // An ended session would be answered with 401.
    expect((await show(`${direct.base}/api/admin/metrics`, { ...own, cookie })).status).toBe(200);
  });

  it("leaves the operators' own port, which has no proxies, as it is", async () => {
    expect((await show(`${behindProxy.server.adminUrl}/v1/server`)).status).toBe(200);
  });
});

describe.each(["/v1/server", "/metrics"])("a2a.admin.handler with mutualTls, %s", (path) => {
  const closing: (() => Promise<void> | void)[] = [];
  afterAll(async () => {
    for (const close of closing) await close();
  });

  /** Returns the URL of a service mounted in another application's server. */
  async function mounted(options: object = {}): Promise<string> {
    const agents = { agent: obedient("mounted"), store: memoryStore() };
    const a2a: A2A = createA2A({ ...agents, audit: false, metrics: true, admin, ...options });
    const asking = { ...tls, requestCert: true, rejectUnauthorized: false };
    const host = https.createServer(asking, (request, response) => a2a.admin?.handler(request, response));
    await new Promise<void>((resolve) => host.listen(0, "127.0.0.1", resolve));
    closing.push(() => {
      host.close();
      host.closeAllConnections();
      return a2a.close();
    });
    return `https://127.0.0.1:${(host.address() as AddressInfo).port}`;
  }

  it.each(forwarded)("takes no certificate of a trusted proxy for an operator's, %s", async (_name, headers) => {
    expect((await show(`${await mounted(trusting)}${path}`, headers)).status).toBe(401);
  });

  it.each(forwarded)("lets an operator in by its own certificate, %s", async (_name, headers) => {
    expect((await show(`${await mounted()}${path}`, headers)).status).toBe(200);
  });
});
