import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, it, vi } from "vitest";
import { publicKeysOf, verifyCard } from "../../src/card/index.js";
import { keyPair } from "../card/signing/keys.js";
import { build } from "../e2e/support/build.js";
import { probe, type Run, ready, run, workplace } from "./cli.js";

vi.setConfig({ testTimeout: 60_000 });

build();
const { path: cwd, clean } = workplace();
afterAll(clean);

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

const card = {
  name: "Filed",
  description: "Is in a file.",
  version: "1.0.0",
  supportedInterfaces: [{ url: "https://agents.example", protocolBinding: "JSONRPC", protocolVersion: "1.0" }],
  capabilities: {},
  defaultInputModes: ["text/plain"],
  defaultOutputModes: ["text/plain"],
  skills: [{ id: "s", name: "S", description: "Does.", tags: ["t"] }],
};

function file(name: string, content: string | object, mode = 0o600): string {
  writeFileSync(join(cwd, name), typeof content === "string" ? content : JSON.stringify(content));
  chmodSync(join(cwd, name), mode);
  return name;
}

const [one, two] = [keyPair("EdDSA"), keyPair("ES256")];
file("card.json", card);
file("one.pem", one.pem);
file("two.jwk", { ...two.jwk, kid: "two" });
file("one.pub", one.publicPem);
file("two.pub", two.publicPem);

/** Runs the command to its end. */
async function parley(args: readonly string[], input?: string) {
  const started = run(["card", ...args], cwd);
  started.child.stdin?.end(input);
  const code = await started.exited;
  return { code, stdout: started.stdout(), stderr: started.stderr() };
}

async function serve(answer: (path: string) => string): Promise<string> {
  const server = createServer((request, response) => {
    const body = answer(request.url ?? "");
    if (body === "") response.writeHead(302, { location: "/elsewhere" });
    response.end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closing.push(() => server.close().closeAllConnections());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe("parley card sign and verify", () => {
  it("sign a file by several keys, and verify it by any of them", async () => {
    const signed = await parley(["sign", "card.json", "--key", "one.pem", "--key", "two.jwk"]);
    expect([signed.code, signed.stderr]).toEqual([0, ""]);
    expect(JSON.parse(signed.stdout)).toMatchObject(card);
    file("signed.json", signed.stdout);
    const both = await verifyCard(signed.stdout, { keys: [one.publicPem, two.publicPem] });
    expect(both.signatures).toMatchObject([{ alg: "EdDSA" }, { kid: "two", valid: true, alg: "ES256" }]);
    const verified = await parley(["verify", "signed.json", "--key", "two.pub"]);
    expect(verified).toEqual({
      code: 0,
      stderr: "",
      stdout:
        `signature 1: not valid (no-key): no trusted key has the id "${both.signatures[0]?.kid}" and fits EdDSA\n` +
        'signature 2: valid, ES256 by the key "two" from --key\n' +
        'The card of "Filed" is signed by a key that is trusted.\n',
    });
    file("jwks.json", await publicKeysOf([{ key: one.pem }]));
    expect(await parley(["verify", "-", "--jwks", "jwks.json"], signed.stdout)).toMatchObject({ code: 0 });
  });

  it("name the key and its JWKS, and keep the signatures that are there when they are told to", async () => {
    const flags = ["--key", "one.pem", "--kid", "new", "--jku", "https://keys.example/jwks.json"];
    const first = await parley(["sign", "-", ...flags], JSON.stringify(card));
    const [signature] = JSON.parse(first.stdout).signatures;
    expect(JSON.parse(Buffer.from(signature.protected, "base64url").toString())).toEqual({
      alg: "EdDSA",
      typ: "JOSE",
      kid: "new",
      jku: "https://keys.example/jwks.json",
    });
    const again = await parley(["sign", "-", "--key", "two.jwk"], first.stdout);
    expect(JSON.parse(again.stdout).signatures).toHaveLength(1);
    const added = await parley(["sign", "-", "--key", "two.jwk", "--add"], first.stdout);
    expect(JSON.parse(added.stdout).signatures).toMatchObject([signature, {}]);
    expect(await verifyCard(added.stdout, { keys: [one.publicPem, two.publicPem] })).toMatchObject({
      signatures: [{ valid: true }, { valid: true }],
    });
  });

  it("end with 1 where no signature is valid", async () => {
    const signed = (await parley(["sign", "card.json", "--key", "one.pem"])).stdout;
    const changed = signed.replace("Is in a file.", "Is \\u001b[31mnot.");
    const verified = await parley(["verify", "-", "--key", "one.pub"], changed);
    expect(verified).toMatchObject({ code: 1, stdout: expect.stringContaining("signature 1: not valid (mismatch)") });
    expect(await parley(["verify", "card.json", "--key", "one.pub"])).toEqual({
      code: 1,
      stderr: "",
      stdout: 'The card of "Filed" has no signatures.\n',
    });
  });

  it("let no card affect the terminal", async () => {
    const header = Buffer.from(JSON.stringify({ alg: "EdDSA", kid: "\u001b[31m\u009b" })).toString("base64url");
    const hostile = { ...card, name: "\u001b]0;x\u0007", signatures: [{ protected: header, signature: "AAAA" }] };
    const { code, stdout } = await parley(["verify", "-", "--key", "two.pub"], JSON.stringify(hostile));
    expect(code).toBe(1);
    expect(stdout.replaceAll("\n", "")).toMatch(/^\P{C}+$/u);
  });

  it("sign a card without its empty values too, and accept that where they are told to", async () => {
    const empty = JSON.stringify({ ...card, skills: [] });
    const { stdout } = await parley(["sign", "-", "--key", "one.pem", "--also-without-empty"], empty);
    const strict = await parley(["verify", "-", "--key", "one.pub"], stdout);
    expect(strict).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("signature 2: not valid (without-empty)"),
    });
    const lenient = await parley(["verify", "-", "--key", "one.pub", "--accept-without-empty"], stdout);
    expect(lenient).toMatchObject({ code: 0, stdout: expect.stringContaining("signature 2: valid") });
  });

  it("take card and keys from URLs, and follow no redirect", async () => {
    const { stdout } = await parley(["sign", "card.json", "--key", "one.pem", "--kid", "k"]);
    const keys = JSON.stringify(await publicKeysOf([{ key: one.pem, kid: "k" }]));
    const url = await serve((path) =>
      path === "/.well-known/agent-card.json"
        ? stdout
        : path === "/jwks.json"
          ? keys
          : path === "/big"
            ? "x".repeat(2 ** 21)
            : "",
    );
    expect(await parley(["verify", url, "--jwks", `${url}/jwks.json`])).toMatchObject({ code: 0 });
    const moved = await parley(["verify", `${url}/moved`, "--key", "one.pub"]);
    expect(moved).toMatchObject({ code: 2, stderr: expect.stringContaining("302, which leads to /elsewhere") });
    const big = await parley(["verify", `${url}/big`, "--key", "one.pub"]);
    expect(big).toMatchObject({ code: 2, stderr: expect.stringContaining("more than 1048576 bytes") });
    const named = await parley(["sign", "card.json", "--key", "one.pem", "--kid", "k", "--jku", `${url}/jwks.json`]);
    expect(await parley(["verify", "-", "--jku", `${url}/jwks.json`], named.stdout)).toMatchObject({ code: 0 });
    expect(await parley(["verify", "-", "--jku", `${url}/other.json`], named.stdout)).toMatchObject({
      code: 1,
      stdout: expect.stringContaining("is not trusted"),
    });
  });

  it.each([
    ["a key that is not there", ["sign", "card.json", "--key", "none.pem"], "cannot read the key none.pem"],
    ["a public key to sign with", ["sign", "card.json", "--key", "one.pub"], "is a public key, not a private key"],
    [
      "a private key to verify with",
      ["verify", "card.json", "--key", "one.pem"],
      "the key one.pem: The key is a private key",
    ],
    ["no key to trust", ["verify", "card.json"], "no key is trusted"],
    ["no card", ["verify", "one.pub", "--key", "one.pub"], "the card one.pub: It is not JSON"],
    ["a card that is not there", ["verify", "none.json", "--key", "one.pub"], "the card none.json: cannot be read"],
    [
      "more ids than keys",
      ["sign", "card.json", "--key", "one.pem", "--kid", "a", "--kid", "b"],
      "give --kid as often",
    ],
    ["a JWKS in the clear", ["verify", "card.json", "--jwks", "http://keys.example/"], "is not an https URL"],
    ["a key that is no key", ["sign", "card.json", "--key", "card.json"], "is neither a private key in PEM nor a JWK"],
  ])("refuse %s with one line and exit code 2", async (_what, args, sentence) => {
    const { code, stdout, stderr } = await parley(args);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toMatch(/^parley: [^\n]*\n$/);
    expect(stderr).toContain(sentence);
    expect(stderr).not.toContain(String(one.pem.split("\n")[1]));
  });

  it("refuse to sign what other readers would drop", async () => {
    const { code, stderr } = await parley(["sign", "-", "--key", "one.pem"], JSON.stringify({ ...card, url: "x" }));
    expect([code, stderr]).toEqual([2, "parley: the card -: the card has members that A2A 1.0 does not know: url\n"]);
    const missing = await parley(["sign", "-", "--key", "one.pem"], JSON.stringify({ ...card, version: undefined }));
    expect(missing).toMatchObject({ code: 0, stderr: "parley: in the card version is empty\n" });
  });

  it.runIf(process.platform !== "win32")("warn of a private key that others can read", async () => {
    file("open.pem", one.pem, 0o644);
    const { code, stderr } = await parley(["sign", "card.json", "--key", "open.pem"]);
    expect([code, stderr]).toEqual([
      0,
      "parley: other users of this machine can read the private key open.pem: chmod 600 open.pem\n",
    ]);
  });
});

describe("parley serve with --card-key", () => {
  const serveFlags = ["serve", probe, "--port", "0", "--grpc-port", "0", "--store", "memory"];
  async function started(...flags: readonly string[]): Promise<Awaited<ReturnType<typeof ready>>> {
    const server: Run = run([...serveFlags, ...flags], cwd);
    closing.push(async () => {
      server.child.kill("SIGKILL");
      await server.exited;
    });
    return ready(server);
  }

  it("signs its card by each key, which its own command verifies", async () => {
    const { url, stderr } = await started("--card-key", "one.pem,two.jwk");
    const verified = await parley(["verify", url, "--jwks", `${url}/.well-known/jwks.json`]);
    expect(verified).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/valid, EdDSA.*\n.*valid, ES256 by the key "two"/),
    });
    for (const secret of [one.pem.split("\n")[1] ?? "", String(two.jwk.d)]) expect(stderr()).not.toContain(secret);
  });

  it("says in one line which key cannot be used, and nothing of what is in it", async () => {
    file("bad.pem", "-----BEGIN PRIVATE KEY-----\nSECRETSECRET\n-----END PRIVATE KEY-----\n");
    file("bad.jwk", '{"kty":"EC","d":"SECRETSECRET"');
    for (const bad of ["bad.pem", "bad.jwk"]) {
      const server = run([...serveFlags, "--card-key", bad], cwd);
      expect(await server.exited).toBe(2);
      const last = server.stderr().trim().split("\n").at(-1);
      expect(last).toMatch(/^parley: Invalid (keys|options): cardSigning\.keys\[0\]\.key (is|cannot sign)/);
      expect(server.stderr() + server.stdout()).not.toContain("SECRET");
    }
  });

  it("names the JWKS that it is told to", async () => {
    const jku = "https://keys.example/jwks.json";
    const { url } = await started("--card-key", "one.pem", "--card-jku", jku);
    const { signatures } = (await (await fetch(`${url}/.well-known/agent-card.json`)).json()) as {
      signatures: { protected: string }[];
    };
    expect(JSON.parse(Buffer.from(signatures[0]?.protected ?? "", "base64url").toString())).toMatchObject({ jku });
    const alone = run([...serveFlags, "--card-jku", jku], cwd);
    expect(await alone.exited).toBe(2);
    expect(alone.stderr()).toContain("--card-jku needs a key that signs cards");
    expect(readFileSync(join(cwd, "one.pem"), "utf8")).toBe(one.pem);
  });
});
