import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair, SignJWT } from "jose";

/** An issuer of tokens for trying things out: it gives one to whoever asks, in any name and with any scope. */
export async function startIssuer(port: number): Promise<{ url: string; stop(): void }> {
  const { publicKey, privateKey } = await generateKeyPair("ES256");
  const jwk = { ...(await exportJWK(publicKey)), kid: "first", alg: "ES256", use: "sig" };
  const server = createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "/", url);
    response.setHeader("content-type", "application/json");
    if (pathname === "/jwks") return response.end(JSON.stringify({ keys: [jwk] }));
    if (pathname !== "/token") return response.writeHead(404).end();
    const token = new SignJWT({ scope: searchParams.get("scope") ?? "" })
      .setProtectedHeader({ alg: "ES256", kid: "first" })
      .setIssuer(url)
      .setAudience("books")
      .setSubject(searchParams.get("name") ?? "alice")
      .setExpirationTime("10 minutes");
    return response.end(JSON.stringify({ access_token: await token.sign(privateKey), token_type: "Bearer" }));
  });
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url, stop: () => void server.close().closeAllConnections() };
}
