import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AgentCardSchema } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { type Handshake, judged } from "../../../src/cli/a2a/examine/certificates.js";
import { type CardProbe, cardChecks } from "../../../src/examine/served-card.js";
import { testTls } from "../../server/tls.js";
import { type Json, openWorld, type World } from "./world.js";

/** Runs a check on a card as if it had been found at a URL. */
function checked(name: string, card: MessageInitShape<typeof AgentCardSchema>, url: string | undefined, asked = url) {
  const found = { card: create(AgentCardSchema, card), url, asked, text: "{}", isGuessed: false, isVerified: false };
  const probe = { found, exchange: undefined, signal: new AbortController().signal } as unknown as CardProbe;
  return cardChecks.find((each) => each.name === name)?.run(probe);
}

const at = (...urls: readonly string[]) => ({
  supportedInterfaces: urls.map((url) => ({ url, protocolBinding: "GRPC", protocolVersion: "1.0" })),
});
const place = "https://agent.example/.well-known/agent-card.json";

describe("the card of an agent on another machine", () => {
  it.each(["http://localhost:8080/", "http://127.0.0.1/", "127.0.0.1:50051", "http://0.0.0.0:80/", "http://[::]:1/"])(
    "must not name %s",
    (url) => {
      expect(checked("interface-hosts", at("https://agent.example", url), place)).toMatchObject({
        fault: expect.stringContaining("one machine"),
      });
    },
  );

  it("may name other hosts", () => {
    expect(checked("interface-hosts", at("https://agent.example", "grpc.agent.example:443"), place)).toBeUndefined();
    expect(checked("interface-hosts", at("http://localhost/"), "http://localhost/x")).toMatchObject({ skipped: /./ });
  });

  it("has to be encrypted, with its interfaces", () => {
    expect(checked("encryption", at("https://agent.example"), place)).toBeUndefined();
    expect(checked("encryption", at("http://agent.example/rpc?key=s3cret"), place)).toEqual({
      fault: expect.stringMatching(/^http:\/\/agent\.example\/rpc(?!.*s3cret).* is not encrypted$/),
    });
    expect(checked("encryption", at("https://agent.example"), "http://agent.example/card.json")).toMatchObject({
      fault: expect.any(String),
    });
  });

  it("should be on the host that was asked", () => {
    expect(checked("redirect", {}, place, "https://agent.example/")).toBeUndefined();
    expect(checked("redirect", {}, place, "https://www.example/")).toEqual({
      fault: "the request is redirected to https://agent.example",
    });
  });
});

describe("a TLS handshake", () => {
  const now = Date.parse("2026-01-01T00:00:00Z");
  const sound: Handshake = { distrust: undefined, protocol: "TLSv1.3", validTo: new Date("2026-03-01T00:00:00Z") };
  const faults = (changed: Partial<Handshake>) =>
    judged({ ...sound, ...changed }, now).flatMap(([{ name }, finding]) => (finding === undefined ? [] : [name]));

  it.each<[string, Partial<Handshake>, string[]]>([
    ["sound", {}, []],
    ["of a certificate that is not trusted", { distrust: "it is signed by itself" }, ["certificate"]],
    ["of a certificate that ends soon", { validTo: new Date("2026-01-10T00:00:00Z") }, ["renewal"]],
    ["of an expired one", { distrust: "it has expired", validTo: new Date("2025-12-01T00:00:00Z") }, ["certificate"]],
    ["in an old version", { protocol: "TLSv1.2" }, ["tls-version"]],
  ])("that is %s", (_, changed, names) => {
    expect(faults(changed)).toEqual(names);
  });
});

describe("an agent behind TLS", { timeout: 30_000 }, () => {
  let world: World;
  beforeAll(async () => {
    world = await openWorld({ tls: testTls });
  });
  afterAll(() => world.close());

  const found = async (...argv: readonly string[]) => {
    const { json } = await world.run(["doctor", "https://AGENT", "-o", "json", ...argv], {
      files: { "ca.pem": testTls.cert },
    });
    const lines = json.checks.filter(({ check }: Json) => check === "certificate");
    return lines.map(({ result, detail }: Json) => [result, detail]);
  };

  it("is told that its certificate signs itself", async () => {
    expect(new Set((await found("--insecure")).map(([, detail]: Json) => detail))).toEqual(
      new Set(["it is signed by itself"]),
    );
  });

  it("is sound with the authority of its certificate, over HTTP and gRPC", async () => {
    expect(await found("--ca", "ca.pem")).toEqual([
      ["pass", null],
      ["pass", null],
    ]);
  });
});
