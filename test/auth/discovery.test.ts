import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { discoveredKeys } from "../../src/auth/oauth2.js";
import type { SchemeParts } from "../../src/auth/scheme.js";
import { defaultLimits } from "../../src/core/limits.js";
import { silentLogger } from "../../src/core/log.js";

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

/** Serves metadata that name the URL of these keys. Returns the port. */
async function serve(jwks: string): Promise<number> {
  const server = createServer((_, response) => {
    response.end(JSON.stringify({ issuer: "https://issuer.example", jwks_uri: jwks }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  ends.push(() => server.close());
  return (server.address() as AddressInfo).port;
}

const parts = { limits: defaultLimits, logger: silentLogger } as unknown as SchemeParts;

describe("keys that metadata name", () => {
  // An address that reaches this machine without being recognized as local.
  const elsewhere = "0.0.0.0";

  it.each([
    "http://127.0.0.1:9200/jwks",
    "http://localhost:9200/jwks",
    "http://x.localhost/jwks",
    "http://[::1]/jwks",
    "https://localhost/jwks",
    "https://169.254.169.254/latest/meta-data",
    "https://0xa9fea9fe/latest/meta-data",
    "https://10.0.0.1/jwks",
    "https://[fd00::1]/jwks",
  ])("are not asked for at %s, where the issuer is elsewhere", async (jwks) => {
    const port = await serve(jwks);
    const keys = discoveredKeys("https://issuer.example", `http://${elsewhere}:${port}/metadata`, parts);
    await expect(keys()).rejects.toMatchObject({ reason: "UNAVAILABLE" });
  });

  it.each(["https://keys.example/jwks", "https://issuer.example/jwks"])("are at %s", async (jwks) => {
    const port = await serve(jwks);
    const keys = discoveredKeys("https://issuer.example", `http://${elsewhere}:${port}/metadata`, parts);
    expect(await keys()).toBe(jwks);
  });

  it.each([
    ["127.0.0.1", "127.0.0.1"],
    ["localhost", "localhost"],
    ["127.0.0.1", "localhost"],
    [elsewhere, elsewhere],
  ])("may be on %s, where the issuer is on %s", async (host, own) => {
    // Without TLS, keys may only be on this machine.
    const jwks = `${host === elsewhere ? "https" : "http"}://${new URL(`http://${host}`).hostname}:9200/jwks`;
    const port = await serve(jwks);
    expect(await discoveredKeys("https://issuer.example", `http://${own}:${port}/metadata`, parts)()).toBe(jwks);
  });
});
